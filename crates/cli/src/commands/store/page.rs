//! Pages in trouble, as lines of text.

use thermocline_assembly::PageAt;

/// What is the matter with a page, and where it lies.
pub fn line(what: &str, at: &PageAt) -> String {
    match (at.block, at.page) {
        (Some(block), Some(page)) => {
            format!("{what}: logical page {} (block {block}, page {page})\n", at.lpn)
        }
        _ => format!("{what}: logical page {} (no copy of it is left)\n", at.lpn),
    }
}
