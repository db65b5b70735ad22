//! What a host may see of a store: the model that every read is held against.

use thermocline_embedded::{
    Error, Ftl, Nand,
    policy::{Placement, Victim},
};

/// What was promised of a logical page. A version is the number of a write; 0 is no data.
#[derive(Clone, Debug)]
struct Page {
    now: u32,
    /// What a loss of power may leave in its place.
    or: Vec<u32>,
    /// A loss of power or an operation without an answer: it is one of all these.
    open: bool,
    /// Since a mount, nobody has looked: what is seen counts once a change after it was acknowledged.
    settles: bool,
    /// What was seen after a mount, and no change was acknowledged since.
    shown: bool,
    /// The chip lost the copy that counts: an error is right.
    hurt: bool,
    /// The chip says that what it made of the copy is well: data of no version are nobody's fault.
    garbled: bool,
}

const BLANK: Page = Page {
    now: 0,
    or: Vec::new(),
    open: false,
    settles: false,
    shown: false,
    hurt: false,
    garbled: false,
};

/// A promise that was broken.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The kind, in a word.
    pub kind: &'static str,
    pub what: String,
}

pub fn broken(kind: &'static str, what: impl Into<String>) -> Broken {
    Broken { kind, what: what.into() }
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Promises {
    pages: Vec<Page>,
    page_size: usize,
    version: u32,
    /// The chip lost something of the map: an error may stand for any page, but nothing else.
    pub map_hurt: bool,
    /// A change was acknowledged since the mount.
    settled: bool,
}

const MAGIC: u32 = 0x7e57_da7a;

fn word(lpn: u32, version: u32, i: u32) -> u32 {
    (version ^ lpn << 20 ^ i << 7).wrapping_mul(0x9e37_79b1).rotate_left(i) ^ lpn
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// The logical page and the version of data, if they are what the host wrote.
pub fn version_of(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut words = words(bytes);
    let (magic, lpn, version) = (words.next()?, words.next()?, words.next()?);
    let same = magic == MAGIC && words.zip(3..).all(|(w, i)| w == word(lpn, version, i));
    same.then_some((lpn, version))
}

impl Promises {
    pub fn new(logical_pages: u32, page_size: u32) -> Self {
        let pages = vec![BLANK; logical_pages as usize];
        Self { pages, page_size: page_size as usize, version: 0, map_hurt: false, settled: false }
    }

    /// The data of the next version of a page.
    pub fn next(&mut self, lpn: u32, data: &mut Vec<u8>) {
        self.version += 1;
        data.clear();
        for first in [MAGIC, lpn, self.version] {
            data.extend_from_slice(&first.to_le_bytes());
        }
        for i in 3..(self.page_size / 4) as u32 {
            data.extend_from_slice(&word(lpn, self.version, i).to_le_bytes());
        }
    }

    /// Writes the next version of a page.
    pub fn write<N: Nand, V: Victim, P: Placement>(
        &mut self,
        store: &mut Ftl<'_, N, V, P>,
        lpn: u32,
    ) -> Result<(), Error> {
        let mut data = Vec::new();
        self.next(lpn, &mut data);
        let written = store.write(lpn, &data);
        self.written(lpn, written);
        written
    }

    /// A write of the next version came back with this.
    pub fn written(&mut self, lpn: u32, result: Result<(), Error>) {
        if result.is_ok() {
            self.settle();
        }
        let (version, page) = (self.version, &mut self.pages[lpn as usize]);
        if result.is_ok() {
            *page = Page { now: version, ..BLANK };
        } else {
            page.or.push(version);
            (page.open, page.settles, page.shown) = (true, false, false);
        }
    }

    /// A change was acknowledged: what was shown after the mount stays.
    fn settle(&mut self) {
        if !std::mem::replace(&mut self.settled, true) {
            for page in self.pages.iter_mut().filter(|page| page.shown) {
                page.shown = false;
                page.or.clear();
            }
        }
    }

    /// So did a trim.
    pub fn trimmed(&mut self, lpn: u32, result: Result<bool, Error>) -> Result<(), Broken> {
        if result.is_ok() {
            self.settle();
        }
        let page = &mut self.pages[lpn as usize];
        page.shown = false;
        match result {
            Ok(held_data) => {
                let may_be_none = page.now == 0 || page.open && page.or.contains(&0);
                if !held_data && !may_be_none {
                    return Err(broken(
                        "zeros",
                        format!("page {lpn}, of which {page:?}, held none"),
                    ));
                }
                page.or.push(std::mem::replace(&mut page.now, 0));
                (page.open, page.settles) = (false, false);
            }
            Err(_) => {
                page.or.push(0);
                (page.open, page.settles) = (true, false);
            }
        }
        Ok(())
    }

    /// A flush was acknowledged: nothing is undone any more.
    pub fn flushed(&mut self) {
        self.settle();
        for page in self.pages.iter_mut().filter(|page| !page.open) {
            page.or.clear();
            page.hurt &= page.now != 0;
        }
    }

    /// The store was mounted again.
    pub fn mounted(&mut self) {
        self.settled = false;
        for page in &mut self.pages {
            page.shown = false;
            page.open = !page.or.is_empty();
            page.settles = page.open;
        }
    }

    /// The chip lost a page of it that was programmed with this.
    pub fn lost(&mut self, content: &[u8]) {
        self.damaged(content, |page| page.hurt = true);
    }

    /// The chip made something else of it.
    pub fn miscorrected(&mut self, content: &[u8]) {
        self.damaged(content, |page| page.garbled = true);
    }

    fn damaged(&mut self, content: &[u8], how: impl Fn(&mut Page)) {
        let Some((lpn, version)) = version_of(content) else {
            self.map_hurt = true;
            return;
        };
        let page = &mut self.pages[lpn as usize];
        if page.now == version || page.or.contains(&version) {
            how(page);
        }
    }

    /// A page was read, with this result.
    pub fn seen(
        &mut self,
        lpn: u32,
        result: Result<bool, Error>,
        data: &[u8],
    ) -> Result<(), Broken> {
        let (map_hurt, settled) = (self.map_hurt, self.settled);
        let page = &mut self.pages[lpn as usize];
        let (now, or, hurt) = (page.now, page.or.clone(), page.hurt);
        let said = |what: &str| format!("page {lpn}, version {now} or {or:?}, hurt {hurt}, {what}");
        let holds_data = match result {
            Ok(holds_data) => holds_data,
            Err(Error::Unreadable(_) | Error::Misplaced(_) | Error::MapUnreadable(_))
                if page.hurt || page.garbled || map_hurt =>
            {
                return Ok(());
            }
            Err(e) => return Err(broken("lost", said(&format!("is an error: {e}")))),
        };
        let version = match version_of(data) {
            _ if !holds_data => {
                if data.iter().any(|&byte| byte != 0) {
                    return Err(broken("wrong", said("holds no data, which is not all zeros")));
                }
                0
            }
            Some((of, version)) if of == lpn => version,
            Some((of, _)) => return Err(broken("wrong", said(&format!("is page {of}")))),
            None if page.garbled => return Ok(()),
            None => return Err(broken("wrong", said("is what nobody wrote"))),
        };
        if version != page.now && !(page.open && page.or.contains(&version)) {
            let kind = if version == 0 { "zeros" } else { "older" };
            return Err(broken(kind, said(&format!("has version {version}"))));
        }
        if page.settles {
            let before = std::mem::replace(&mut page.now, version);
            page.or.push(before);
            (page.open, page.settles, page.shown) = (false, false, true);
            if settled {
                page.or.clear();
                page.shown = false;
            }
        }
        Ok(())
    }
}
