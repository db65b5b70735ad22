//! stub
pub type Nftl<C> = crate::InPlace<C>;
pub enum Choice {
    Greedy,
    CostBenefit,
}
pub struct Config {
    pub logical_pages: u32,
    pub choice: Choice,
    pub start: f64,
    pub stop: f64,
    pub wear_gap: Option<u32>,
    pub idle_dead_pages: u32,
    pub reclaim: Option<thermocline_policy::dead::Reclaim>,
}
