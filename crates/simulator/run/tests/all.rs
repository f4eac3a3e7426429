//! Integration tests in one program; each file is a module. `cargo test -p headway-run --test all MODULE` runs one.

mod finding_bounds;
mod findings;
mod records;
mod sweeps;
