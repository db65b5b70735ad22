//! Pages in trouble, as lines of text.

use thermocline_assembly::PageAt;

/// The fault of a page, and its place.
pub fn line(what: &str, at: &PageAt) -> String {
    format!("{what}: {}\n", place(at))
}

fn place(at: &PageAt) -> String {
    match (at.block, at.page) {
        (Some(block), Some(page)) => {
            format!("logical page {} (block {block}, page {page})", at.lpn)
        }
        _ => format!("logical page {} (no copy of it is left)", at.lpn),
    }
}

/// Pages in ascending order as ranges; a single page with its place.
pub fn ranges(pages: &[PageAt]) -> Vec<String> {
    let runs = pages.chunk_by(|a, b| a.lpn.checked_add(1) == Some(b.lpn));
    let show = |run: &[PageAt]| match run {
        [first, .., last] => {
            format!("logical pages {} to {} ({} pages)", first.lpn, last.lpn, run.len())
        }
        _ => run.iter().map(place).collect(),
    };
    runs.map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_side_by_side_are_one_range() {
        let at = |lpn| PageAt { lpn, block: Some(lpn / 4), page: Some(lpn % 4) };
        let pages: Vec<_> = [3, 4, 5, 9, u32::MAX].map(at).into();
        let shown = ranges(&pages);
        assert_eq!(shown[0], "logical pages 3 to 5 (3 pages)");
        assert_eq!(shown[1], "logical page 9 (block 2, page 1)");
        assert_eq!(shown.len(), 3);
        assert!(ranges(&[]).is_empty());
    }
}
