//! Names of inputs in titles.

use thermocline_units::naming::in_results;

use crate::compared::Compared;

/// A trace without its folders.
#[must_use]
pub fn file(path: &str) -> &str {
    last(path, 1)
}

/// The name of an input in titles: the file of a trace, with as many of its folders as make it unique.
#[must_use]
pub fn of(inputs: &[Compared]) -> Vec<String> {
    let is_trace =
        |input: &Compared| input.runs().next().is_some_and(|run| run.trace.digest.is_some());
    let all: Vec<_> = inputs.iter().map(|input| (input.input.as_str(), is_trace(input))).collect();
    short(&all)
}

fn short(all: &[(&str, bool)]) -> Vec<String> {
    let told = |path: &str| {
        let most = path.matches('/').count() + 1;
        let alike = |parts: usize| {
            let same = all
                .iter()
                .filter(|(other, is_trace)| *is_trace && last(other, parts) == last(path, parts));
            same.count() > 1
        };
        (1..most).find(|parts| !alike(*parts)).unwrap_or(most)
    };
    let name = |(path, is_trace): &(&str, bool)| {
        if *is_trace { last(path, told(path)).to_owned() } else { (*path).to_owned() }
    };
    all.iter().map(name).collect()
}

/// The last parts of a path.
fn last(path: &str, parts: usize) -> &str {
    // A sampled trace carries its share behind its name.
    let end = path.find(&format!(" {}", in_results("sample", ""))).unwrap_or(path.len());
    let begin = path[..end].rmatch_indices('/').nth(parts - 1).map_or(0, |(at, _)| at + 1);
    // A folder that ends in a slash has its name before it.
    if begin == end { path } else { &path[begin..] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_have_files_and_no_folders_but_where_they_tell_them_apart() {
        let traces = [
            ("/a/long/way/to/web.tct", true),
            ("/data/monday/db.csv.gz --sample 1/8", true),
            ("/data/tuesday/db.csv.gz --sample 1/8", true),
            ("hot-cold:90/10", false),
            ("-", true),
        ];
        let names = [
            "web.tct",
            "monday/db.csv.gz --sample 1/8",
            "tuesday/db.csv.gz --sample 1/8",
            "hot-cold:90/10",
            "-",
        ];
        assert_eq!(short(&traces), names);
        // The same file twice.
        assert_eq!(short(&[("/a/b.csv", true), ("/a/b.csv", true)]), ["/a/b.csv", "/a/b.csv"]);
        assert_eq!((file("/a/b.csv"), file("/a/")), ("b.csv", "/a/"));
    }
}
