//! Where a curve bends.

use thermocline_chart::Point;

use super::are_one;

/// Fewest points of a curve.
const FEWEST: usize = 4;
/// Least distance from the straight line, as a share of the curve's height.
const FAR: f64 = 0.15;

/// The place furthest from the line between the ends of a curve, if it is far enough to be seen: beyond it the
/// curve falls or rises ever less, or rises ever more.
pub(super) fn knee(points: &[Point], log: bool) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let place = |x: f64| if log { x.ln() } else { x };
    let (width, height) = (place(last.x) - place(first.x), last.y - first.y);
    if points.len() < FEWEST || width == 0.0 || are_one(first.y, last.y) {
        return None;
    }
    let ahead =
        |point: &Point| (point.y - first.y) / height - (place(point.x) - place(first.x)) / width;
    // A curve that falls ever more has no end to its gain.
    let distance = |point: &Point| if height > 0.0 { ahead(point).abs() } else { ahead(point) };
    let furthest = points.iter().max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    (distance(furthest) > FAR).then_some(furthest.x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_a_knee_where_it_bends() {
        let curve = |ys: &[f64]| -> Vec<Point> {
            ys.iter().enumerate().map(|(at, y)| Point::at(at as f64, *y)).collect()
        };
        assert_eq!(knee(&curve(&[4.0, 2.0, 1.2, 1.1, 1.0]), false), Some(2.0));
        assert_eq!(knee(&curve(&[1.0, 1.0, 1.1, 1.5, 6.0]), false), Some(3.0), "ever faster");
        assert_eq!(knee(&curve(&[6.0, 5.9, 5.8, 5.0, 1.0]), false), None, "gains more and more");
        assert_eq!(knee(&curve(&[4.0, 3.0, 2.0, 1.0]), false), None, "a straight line");
        assert_eq!(knee(&curve(&[4.0, 1.1, 1.0]), false), None, "too few to say");
        assert_eq!(knee(&curve(&[1.004, 1.001, 1.0, 1.0, 1.0]), false), None, "a level line");
    }
}
