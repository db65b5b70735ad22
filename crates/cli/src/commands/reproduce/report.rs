//! A folder with a page a paper.

use std::{fs, path::Path};

use thermocline_papers::{
    Counts, Drawing, Experiment,
    page::{self, Part},
};
use thermocline_sim::SimError;

use crate::{exit::Failure, output::Output, print::reproduce::PaperResults};

/// A figure as PDF.
#[cfg(feature = "pdf")]
fn pdf(svg: &str) -> Result<Vec<u8>, Failure> {
    use std::sync::Arc;

    use svg2pdf::{ConversionOptions, PageOptions, usvg};

    /// Fonts that are often there, and look like what a browser takes for `sans-serif`.
    const USUAL: [&str; 5] = ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica"];

    let failed = |what: String| Failure::from(SimError::Failed(format!("a figure as PDF: {what}")));
    let mut options = usvg::Options::default();
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_system_fonts();
    let known = |name: &str| fonts.faces().any(|face| face.families.iter().any(|f| f.0 == name));
    let any = fonts.faces().find_map(|face| face.families.first().map(|family| family.0.clone()));
    let usual = USUAL.into_iter().find(|name| known(name)).map(str::to_owned);
    let Some(family) = usual.or(any) else {
        return Err(failed("no font was found; install one, such as fonts-dejavu-core".into()));
    };
    fonts.set_sans_serif_family(family);
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| failed(e.to_string()))?;
    svg2pdf::to_pdf(&tree, ConversionOptions::default(), PageOptions::default())
        .map_err(|e| failed(e.to_string()))
}

/// Writes pages and figures.
pub fn write(folder: &Path, papers: &[PaperResults<'_>]) -> Result<(), Failure> {
    let target = || folder.display().to_string();
    fs::create_dir_all(folder).map_err(|source| Failure::Write { target: target(), source })?;
    let put = |name: &str, bytes: &[u8]| Output::open(Some(&folder.join(name)))?.put(bytes);
    for results in papers {
        let paper = results.paper;
        let mut drawn: Vec<(&Experiment, Vec<Drawing>)> = Vec::new();
        for report in &results.reports {
            let known = paper.experiments.iter().find(|known| known.name == report.experiment);
            let Some(experiment) = known else { unreachable!("reports are of experiments") };
            let drawings = Drawing::all(experiment, report)
                .map_err(|e| SimError::Failed(format!("{}: cannot draw: {e}", experiment.file)))?;
            for drawing in &drawings {
                let name = page::figure_file(paper, drawing);
                put(&format!("{name}.svg"), drawing.svg.as_bytes())?;
                #[cfg(feature = "pdf")]
                put(&format!("{name}.pdf"), &pdf(&drawing.svg)?)?;
            }
            drawn.push((experiment, drawings));
        }
        let parts = results.reports.iter().zip(&drawn);
        let parts: Vec<_> = parts
            .map(|(report, (experiment, drawings))| Part { experiment, report, drawings })
            .collect();
        put(&format!("{}.md", paper.name), page::markdown(paper, &parts).as_bytes())?;
        put(&format!("{}.html", paper.name), page::html(paper, &parts).as_bytes())?;
    }
    let all: Vec<_> =
        papers.iter().map(|results| (results.paper, Counts::of(&results.reports))).collect();
    let (markdown, html) = page::index(&all);
    put("README.md", markdown.as_bytes())?;
    put("index.html", html.as_bytes())
}
