//! Settings by name: their names, their help, and their notation.
//!
//! A group of settings is a struct and a table of its fields. [`group!`](crate::group) makes both
//! from one declaration. Interfaces use the table for help, for completions, for the schema, and to
//! set a field by its name.

use std::{fmt, iter};

use thermocline_units::naming::SpecError;

use crate::kinds;

/// The description of a setting, for help.
#[derive(Clone, Debug)]
pub struct Info {
    /// Its name: `over-provisioning`.
    pub name: &'static str,
    /// Its meaning.
    pub help: String,
    /// The placeholder of its value; empty for a flag.
    pub value: &'static str,
    /// Its heading in help.
    pub heading: &'static str,
    /// The group that declares it.
    pub group: &'static str,
    /// Its default value, if it has one.
    pub default: Option<&'static str>,
    /// Its value if it is named without one.
    pub alone: Option<&'static str>,
    /// An alias.
    pub alias: Option<&'static str>,
    /// Its short option on the command line.
    pub short: Option<char>,
    /// Whether it may be given several times.
    pub repeats: bool,
    /// Whether its values may begin with a dash.
    pub dashed: bool,
    /// The kind of its values.
    pub values: Values,
    /// Settings that it excludes.
    pub conflicts: &'static [&'static str],
    /// The setting that it requires.
    pub requires: Option<&'static str>,
}

/// The kind of a setting's values.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// Anything that its parser accepts.
    Any,
    /// Files.
    Files,
    /// Folders.
    Folders,
    /// Known names with their meanings; other values are accepted too.
    Names(fn() -> Vec<(&'static str, &'static str)>),
    /// Only these values, with their meanings.
    Choices(&'static [(&'static str, &'static str)]),
    /// Only these values.
    Listed(fn() -> Vec<&'static str>),
}

impl Values {
    /// The names with their meanings.
    #[must_use]
    pub fn names(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Any | Self::Files | Self::Folders => Vec::new(),
            Self::Names(names) => names(),
            Self::Choices(choices) => choices.to_vec(),
            Self::Listed(names) => names().into_iter().map(|name| (name, "")).collect(),
        }
    }
}

/// The parser and the formatter of a value.
#[derive(Clone, Copy, Debug)]
pub struct Codec<T> {
    /// Parses the user's notation.
    pub read: fn(&str) -> Result<T, String>,
    /// Formats a value in canonical form, which parses to an equal value.
    pub show: fn(&T) -> String,
    /// The values to choose from.
    pub values: Values,
}

/// Storage of a setting's values: an option, a list, or a value that is always present.
pub trait Slot<T> {
    /// Whether it stores several values.
    const REPEATS: bool;
    /// Stores a value.
    fn put(&mut self, value: T);
    /// The stored values.
    fn kept(&self) -> Vec<&T>;
}

impl<T> Slot<T> for Option<T> {
    const REPEATS: bool = false;

    fn put(&mut self, value: T) {
        *self = Some(value);
    }

    fn kept(&self) -> Vec<&T> {
        self.iter().collect()
    }
}

impl<T> Slot<T> for Vec<T> {
    const REPEATS: bool = true;

    fn put(&mut self, value: T) {
        self.push(value);
    }

    fn kept(&self) -> Vec<&T> {
        self.iter().collect()
    }
}

/// A value that is always present.
impl<T> Slot<T> for T {
    const REPEATS: bool = false;

    fn put(&mut self, value: T) {
        *self = value;
    }

    fn kept(&self) -> Vec<&T> {
        vec![self]
    }
}

type Read<S> = Box<dyn Fn(&mut S, &str) -> Result<(), String> + Send + Sync>;
type Show<S> = Box<dyn Fn(&S) -> Vec<String> + Send + Sync>;

/// A setting of a group.
pub struct Field<S> {
    /// Its description.
    pub info: Info,
    read: Read<S>,
    show: Show<S>,
}

impl<S> fmt::Debug for Field<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info.fmt(f)
    }
}

/// The text of a flag that is set.
const YES: &str = "true";

impl<S: 'static> Field<S> {
    /// A setting with values of this codec.
    pub fn of<T: 'static, V: Slot<T> + 'static>(
        (name, value): (&'static str, &'static str),
        codec: Codec<T>,
        write: fn(&mut S) -> &mut V,
        look: fn(&S) -> &V,
    ) -> Self {
        let info = Info {
            name,
            help: String::new(),
            value,
            heading: "",
            group: "",
            default: None,
            alone: None,
            alias: None,
            short: None,
            repeats: V::REPEATS,
            dashed: false,
            values: codec.values,
            conflicts: &[],
            requires: None,
        };
        Self {
            info,
            read: Box::new(move |group, text| {
                write(group).put((codec.read)(text)?);
                Ok(())
            }),
            show: Box::new(move |group| look(group).kept().into_iter().map(codec.show).collect()),
        }
    }

    /// A flag.
    pub fn flag(name: &'static str, write: fn(&mut S) -> &mut bool, look: fn(&S) -> &bool) -> Self {
        let read = |text: &str| match text {
            YES => Ok(true),
            "false" => Ok(false),
            other => Err(format!("`{other}` is neither true nor false")),
        };
        let codec = Codec { read, show: bool::to_string, values: Values::Any };
        let mut field = Self::of((name, ""), codec, write, look);
        field.info.alone = Some(YES);
        field.show =
            Box::new(move |group| look(group).then(|| YES.to_owned()).into_iter().collect());
        field
    }

    /// Sets the help text from the documentation in the source.
    #[must_use]
    pub fn explained(mut self, lines: &[&str], group: &'static str, heading: &'static str) -> Self {
        let help = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        self.info.help = help.strip_suffix('.').unwrap_or(&help).to_owned();
        self.info.group = group;
        if self.info.heading.is_empty() {
            self.info.heading = heading;
        }
        self
    }

    /// Sets its default value.
    #[must_use]
    pub fn default(mut self, text: &'static str) -> Self {
        self.info.default = Some(text);
        self
    }

    /// Sets its value if it is named without one.
    #[must_use]
    pub fn alone(mut self, text: &'static str) -> Self {
        self.info.alone = Some(text);
        self
    }

    /// Sets its short option and its alias on the command line.
    #[must_use]
    pub fn also(mut self, short: Option<char>, alias: Option<&'static str>) -> Self {
        (self.info.short, self.info.alias) = (short, alias);
        self
    }

    /// Allows values that begin with a dash.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.info.dashed = true;
        self
    }

    /// Sets another heading than that of its group.
    #[must_use]
    pub fn under(mut self, heading: &'static str) -> Self {
        self.info.heading = heading;
        self
    }

    /// Sets the settings that it excludes.
    #[must_use]
    pub fn without(mut self, others: &'static [&'static str]) -> Self {
        self.info.conflicts = others;
        self
    }

    /// Sets the setting that it requires.
    #[must_use]
    pub fn needs(mut self, other: &'static str) -> Self {
        self.info.requires = Some(other);
        self
    }

    /// The same setting as a field of an enclosing group.
    #[must_use]
    pub fn within<T: 'static>(self, write: fn(&mut T) -> &mut S, look: fn(&T) -> &S) -> Field<T> {
        let (read, show) = (self.read, self.show);
        Field {
            info: self.info,
            read: Box::new(move |group, text| read(write(group), text)),
            show: Box::new(move |group| show(look(group))),
        }
    }

    /// Sets the value.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn set(&self, group: &mut S, text: &str) -> Result<(), String> {
        (self.read)(group, text)
    }

    /// The value in canonical form; empty if it is the default.
    #[must_use]
    pub fn shown(&self, group: &S) -> Vec<String> {
        let mut shown = (self.show)(group);
        if let ([only], Some(default)) = (&shown[..], self.info.default)
            && only == default
        {
            shown.clear();
        }
        shown
    }

    fn error(&self, why: &str) -> SpecError {
        let (what, remedy) = why.split_once("; ").unwrap_or((why, ""));
        SpecError { field: self.info.name.into(), what: what.into(), remedy: remedy.into() }
    }
}

/// A setting by name, with a value unless it is given without one.
pub type Given<'a> = (&'a str, Option<&'a str>);

/// Settings that belong together.
pub trait Group: Default + Sized + 'static {
    /// Its settings, in the order of help.
    fn table() -> &'static [Field<Self>];

    /// Its settings, for an enclosing group.
    fn fields() -> Vec<Field<Self>>;

    /// The setting of this name.
    ///
    /// # Errors
    /// There is none; names the nearest.
    fn field(name: &str) -> Result<&'static Field<Self>, SpecError> {
        let is = |field: &&Field<Self>| field.info.name == name || field.info.alias == Some(name);
        Self::table().iter().find(is).ok_or_else(|| {
            let names = Self::table().iter().map(|field| field.info.name);
            let near = names
                .map(|known| (strsim::damerau_levenshtein(known, name), known))
                .filter(|(distance, known)| *distance <= known.len().max(name.len()) / 3)
                .min_by_key(|(distance, _)| *distance);
            SpecError {
                field: name.into(),
                what: "there is no such setting".into(),
                remedy: near.map_or(String::new(), |(_, known)| format!("did you mean ‹{known}›?")),
            }
        })
    }

    /// Sets everything that is given, and checks that the settings are compatible.
    ///
    /// # Errors
    /// The invalid setting, what is wrong, and the remedy.
    fn of<'a>(given: impl IntoIterator<Item = Given<'a>>) -> Result<Self, SpecError> {
        let mut group = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for (name, value) in given {
            let field = Self::field(name)?;
            let text = match (value, field.info.alone) {
                (Some(text), _) | (None, Some(text)) => text,
                (None, None) => return Err(field.error("it needs a value; give it one")),
            };
            if !field.info.repeats && seen.contains(&field.info.name) {
                return Err(field.error("it is given twice; give it once"));
            }
            seen.push(field.info.name);
            field.set(&mut group, text).map_err(|why| field.error(&why))?;
        }
        check(Self::table(), &seen)?;
        kinds::check(Self::table().iter().map(|field| &field.info), |name| seen.contains(&name))?;
        Ok(group)
    }

    /// Everything that differs from its default, in canonical form.
    fn given(&self) -> Vec<(&'static str, String)> {
        let shown =
            |field: &'static Field<Self>| iter::repeat(field.info.name).zip(field.shown(self));
        Self::table().iter().flat_map(shown).collect()
    }
}

/// Checks that settings are compatible.
fn check<S: 'static>(table: &[Field<S>], seen: &[&str]) -> Result<(), SpecError> {
    for field in table.iter().filter(|field| seen.contains(&field.info.name)) {
        if let Some(other) = field.info.conflicts.iter().find(|other| seen.contains(other)) {
            return Err(
                field.error(&format!("it cannot stand beside ‹{other}›; leave one of them out"))
            );
        }
        if let Some(other) = field.info.requires.filter(|other| !seen.contains(other)) {
            return Err(
                field.error(&format!("it is for ‹{other}›, which is left out; set that too"))
            );
        }
    }
    Ok(())
}

/// Declares a choice: an enum, its names with their meanings, and its codec.
#[macro_export]
macro_rules! choices {
    (
        $(#[doc = $about:literal])*
        pub enum $Name:ident, $CODEC:ident {
            $($(#[doc = $help:literal])* $Variant:ident = $name:literal,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name {
            $($(#[doc = $help])* $Variant,)*
        }

        /// The codec of the choice.
        pub const $CODEC: $crate::table::Codec<$Name> = $crate::table::Codec {
            read: |text| match text {
                $($name => Ok($Name::$Variant),)*
                _ => Err(format!("`{text}` is none of {}", [$($name),*].join(", "))),
            },
            show: |choice| match choice {
                $($Name::$Variant => $name.to_owned(),)*
            },
            values: $crate::table::Values::Choices(&[$(($name, concat!($($help),*)),)*]),
        };
    };
}

/// Declares a group of settings: a struct, and the table of its fields.
///
/// A field is `one(NAME, VALUE, codec)` or `flag(NAME)`, refined by the methods of [`Field`]; or
/// `flat()`, an embedded group; or `door()`, a field that interfaces set directly and that has no
/// name.
#[macro_export]
macro_rules! group {
    (
        $(#[doc = $about:literal])*
        pub struct $Name:ident, $heading:literal {
            $(
                $(#[doc = $help:literal])*
                $field:ident: $T:ty = $kind:ident($($arg:expr),*) $(.$method:ident($($more:expr),*))*;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug)]
        pub struct $Name {
            $($(#[doc = $help])* pub $field: $T,)*
        }

        impl Default for $Name {
            fn default() -> Self {
                let mut group = Self { $($field: Default::default(),)* };
                for field in <Self as $crate::table::Group>::table() {
                    // Defaults of embedded groups are set already.
                    if let Some(text) = field.info.default
                        && field.info.group == stringify!($Name)
                    {
                        field.set(&mut group, text).expect("a default is a value");
                    }
                }
                group
            }
        }

        impl $crate::table::Group for $Name {
            fn table() -> &'static [$crate::table::Field<Self>] {
                static TABLE: std::sync::OnceLock<Vec<$crate::table::Field<$Name>>> =
                    std::sync::OnceLock::new();
                TABLE.get_or_init(<Self as $crate::table::Group>::fields)
            }

            fn fields() -> Vec<$crate::table::Field<Self>> {
                let all: Vec<Vec<$crate::table::Field<Self>>> = vec![$($crate::group!(
                    @$kind $Name, $heading, $field, $T, [$($arg),*], [$($help),*],
                    [$(.$method($($more),*))*]
                )),*];
                all.into_iter().flatten().collect()
            }
        }
    };
    (@one $Name:ident, $heading:literal, $field:ident, $T:ty,
        [$name:expr, $value:expr, $codec:expr], [$($help:literal),*], [$($more:tt)*]) => {
        vec![
            $crate::table::Field::<$Name>::of(
                ($name, $value),
                $codec,
                |group: &mut $Name| &mut group.$field,
                |group: &$Name| &group.$field,
            )
            $($more)*
            .explained(&[$($help),*], stringify!($Name), $heading),
        ]
    };
    (@flag $Name:ident, $heading:literal, $field:ident, $T:ty,
        [$name:expr], [$($help:literal),*], [$($more:tt)*]) => {
        vec![
            $crate::table::Field::<$Name>::flag(
                $name,
                |group: &mut $Name| &mut group.$field,
                |group: &$Name| &group.$field,
            )
            $($more)*
            .explained(&[$($help),*], stringify!($Name), $heading),
        ]
    };
    (@flat $Name:ident, $heading:literal, $field:ident, $T:ty,
        [], [$($help:literal),*], []) => {
        <$T as $crate::table::Group>::fields()
            .into_iter()
            .map(|field| {
                field.within(|group: &mut $Name| &mut group.$field, |group: &$Name| &group.$field)
            })
            .collect()
    };
    (@door $Name:ident, $heading:literal, $field:ident, $T:ty,
        [], [$($help:literal),*], []) => {
        Vec::new()
    };
}
