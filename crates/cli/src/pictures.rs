//! Pages and figures as files.

use std::{fs, path::Path};

use thermocline_chart::{Chart, Legend, draw};
use thermocline_report::{comparison::Repeat, page::Page};
use thermocline_sim::SimError;
use thermocline_study::Door;
use thermocline_sweep::quoted;

use crate::{args::pictures::PictureArgs, exit::Failure, output::Output};

/// Where pictures go. What cannot be written to shows before the work.
pub struct Pictures {
    report: Option<Output>,
    plots: Option<std::path::PathBuf>,
}

impl Pictures {
    /// Opens the requested outputs.
    pub fn open(args: &PictureArgs) -> Result<Self, Failure> {
        if let Some(folder) = &args.plots {
            make(folder)?;
        }
        let report = args.report.as_deref().map(|path| Output::open(Some(path)));
        Ok(Self { report: report.transpose()?, plots: args.plots.clone() })
    }

    /// Writes the requested outputs.
    pub fn write(
        self,
        page: impl FnOnce() -> Page,
        charts: impl FnOnce() -> Vec<Chart>,
    ) -> Result<(), Failure> {
        if let Some(output) = self.report {
            output.put(rendered(&page())?.as_bytes())?;
        }
        if let Some(folder) = &self.plots {
            charts().iter().try_for_each(|chart| write_chart(folder, &chart.name, chart))?;
        }
        Ok(())
    }
}

/// The file of a page.
pub fn rendered(page: &Page) -> Result<String, Failure> {
    let html = page.render().map_err(|e| SimError::Failed(format!("cannot draw {e}")))?;
    Ok(Door::CommandLine.words(&html).into_owned())
}

/// The command that was given, and what understood it.
pub fn repeat() -> Repeat {
    let arguments = std::env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy()));
    let words: Vec<_> = std::iter::once("thermocline".to_owned()).chain(arguments).collect();
    let version = format!("thermocline {}", env!("CARGO_PKG_VERSION"));
    Repeat { command: words.join(" "), version }
}

/// Makes a folder.
pub fn make(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|source| Failure::Write { target: folder.display().to_string(), source })
}

/// A chart in every form there is, and its numbers.
pub fn write_chart(folder: &Path, name: &str, chart: &Chart) -> Result<(), Failure> {
    let drawing = draw(&chart.plot, Legend::Drawn)
        .map_err(|e| SimError::Failed(format!("{name}: cannot draw: {e}")))?;
    let put = |kind: &str, bytes: &[u8]| {
        Output::open(Some(&folder.join(format!("{name}.{kind}"))))?.put(bytes)
    };
    put("svg", drawing.svg.as_bytes())?;
    #[cfg(feature = "pdf")]
    {
        put("pdf", &converted::pdf(&drawing.svg)?)?;
        put("png", &converted::png(&drawing.svg)?)?;
    }
    put("csv", chart.plot.table().csv().as_bytes())
}

/// Drawings in forms that need fonts.
#[cfg(feature = "pdf")]
pub mod converted {
    use std::sync::Arc;

    use resvg::{tiny_skia::Pixmap, tiny_skia::Transform, usvg};
    use svg2pdf::{ConversionOptions, PageOptions};
    use thermocline_sim::SimError;

    use crate::exit::Failure;

    /// Common fonts that look like a browser's `sans-serif`.
    const USUAL: [&str; 5] = ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica"];
    /// Pixels for each of the drawing's units: 300 a printed inch and more.
    const SCALE: f32 = 3.0;

    fn failed(what: &str) -> Failure {
        SimError::Failed(format!("a figure as PDF and PNG: {what}")).into()
    }

    fn tree(svg: &str) -> Result<usvg::Tree, Failure> {
        let mut options = usvg::Options::default();
        let fonts = Arc::make_mut(&mut options.fontdb);
        fonts.load_system_fonts();
        let known =
            |name: &str| fonts.faces().any(|face| face.families.iter().any(|f| f.0 == name));
        let any =
            fonts.faces().find_map(|face| face.families.first().map(|family| family.0.clone()));
        let usual = USUAL.into_iter().find(|name| known(name)).map(str::to_owned);
        let Some(family) = usual.or(any) else {
            return Err(failed("no font was found; install one, such as fonts-dejavu-core"));
        };
        fonts.set_sans_serif_family(family);
        usvg::Tree::from_str(svg, &options).map_err(|e| failed(&e.to_string()))
    }

    /// A drawing as PDF.
    pub fn pdf(svg: &str) -> Result<Vec<u8>, Failure> {
        svg2pdf::to_pdf(&tree(svg)?, ConversionOptions::default(), PageOptions::default())
            .map_err(|e| failed(&e.to_string()))
    }

    /// A drawing as PNG.
    pub fn png(svg: &str) -> Result<Vec<u8>, Failure> {
        let tree = tree(svg)?;
        let size = tree.size();
        let (width, height) = ((size.width() * SCALE) as u32, (size.height() * SCALE) as u32);
        let mut pixels = Pixmap::new(width, height).ok_or_else(|| failed("it has no size"))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|e| failed(&e.to_string()))
    }
}
