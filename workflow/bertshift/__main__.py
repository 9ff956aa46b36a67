from bertshift.api.command import main

raise SystemExit(main())
