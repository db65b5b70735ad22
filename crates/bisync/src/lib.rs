//! Async code that is compiled as blocking code as well.
//!
//! A file is a module of two trees, and each of them says what the attribute is that stands before the file's items:
//!
//! ```ignore
//! // lib.rs                                           // asynchronous.rs
//! use thermocline_bisync::blocking as bisync;         use thermocline_bisync::asynchronous as bisync;
//! mod work;                                           #[path = "work.rs"] mod work;
//!
//! // work.rs
//! use super::bisync;
//!
//! #[bisync]
//! pub async fn work(chip: &mut Chip) -> Result<(), Error> {
//!     chip.erase(0).await
//! }
//! ```
//!
//! The compiler sees no more of the blocking code than if nobody had ever written `async` there:
//!
//! ```
//! #[thermocline_bisync::blocking]
//! async fn next(number: u32) -> u32 {
//!     number + 1
//! }
//!
//! #[thermocline_bisync::blocking]
//! async fn after_next(number: u32) -> u32 {
//!     next(next(number).await).await
//! }
//!
//! assert_eq!(after_next(1), 3);
//! ```
//!
//! Closures that wait, and functions that call themselves, are async code's to avoid: without a box they have no future. The macro
//! parses nothing and has no dependencies, so firmware does not wait for it to be built.

use proc_macro::{Group, TokenStream, TokenTree};

/// Leaves an item as it is.
#[proc_macro_attribute]
pub fn asynchronous(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Takes each `async` and each `.await` out of an item.
#[proc_macro_attribute]
pub fn blocking(_: TokenStream, item: TokenStream) -> TokenStream {
    strip(item)
}

fn strip(tokens: TokenStream) -> TokenStream {
    let mut left = tokens.into_iter().peekable();
    let mut kept = Vec::new();
    while let Some(token) = left.next() {
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), strip(group.stream()));
                inner.set_span(group.span());
                kept.push(inner.into());
            }
            TokenTree::Ident(word) if is(&word, "async") => {}
            TokenTree::Punct(dot)
                if dot.as_char() == '.'
                    && matches!(left.peek(), Some(TokenTree::Ident(word)) if is(word, "await")) =>
            {
                left.next();
            }
            other => kept.push(other),
        }
    }
    kept.into_iter().collect()
}

fn is(ident: &proc_macro::Ident, word: &str) -> bool {
    ident.to_string() == word
}
