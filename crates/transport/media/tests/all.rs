//! Integration tests in one program; each file is a module. `cargo test -p headway-media --test all MODULE` runs one.

mod captures;
mod conference;
mod frames;
mod methods;
mod ns2;
mod options;
mod pages;
mod payloads;
mod queue_properties;
mod queueing;
mod queues;
mod resend;
mod sessions;
mod traces;
