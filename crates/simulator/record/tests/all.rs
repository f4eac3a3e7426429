//! Integration tests in one program; each file is a module. `cargo test -p headway-record --test all MODULE` runs one.

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "plot")]
mod chart_geometry;
mod common;
#[cfg(feature = "plot")]
mod delay_charts;
mod delays;
#[cfg(feature = "plot")]
mod drop_charts;
mod expressions;
mod flow;
mod link;
mod meters;
mod ns2_trace;
mod packet_rows;
#[cfg(feature = "plot")]
mod plot;
#[cfg(feature = "plot")]
mod plot_charts;
#[cfg(feature = "plot")]
mod plot_read_back;
#[cfg(feature = "plot")]
mod reading;
#[cfg(feature = "plot")]
mod sequence_charts;
mod series;
mod summary_tables;
#[cfg(feature = "plot")]
mod sweep_charts;
mod tables;
