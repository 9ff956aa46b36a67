from bertshift.running.makers import origins

# file: what it is made from, by the rule of the first letter; no rule makes files that begin with x.
READ = {"figure": ["scores", "dump"], "scores": ["dump"], "dump": ["data"], "data": ["xmirror"]}


def test_the_files_that_some_rules_make_on_the_way_to_one():
    def makers(file):
        return {file[0]} - {"x"}

    assert origins("figure", {"d"}.__contains__, makers, lambda rule, file: READ[file]) == {"dump", "data"}
