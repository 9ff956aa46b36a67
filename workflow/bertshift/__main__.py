import sys

from bertshift.api.command import main

if __name__ == "__main__":  # jobs' starter imports every module
    sys.exit(main())
