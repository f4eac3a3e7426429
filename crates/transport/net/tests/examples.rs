//! Runs all examples, and compares the first with the book.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

#[path = "../examples/camera.rs"]
mod camera;
#[path = "../examples/encodings.rs"]
mod encodings;
#[path = "../examples/game.rs"]
mod game;
#[path = "../examples/hello.rs"]
mod hello;
#[path = "../examples/messages.rs"]
mod messages;
#[path = "../examples/rtp_sender.rs"]
mod rtp_sender;
#[path = "../examples/sensor.rs"]
mod sensor;

#[test]
fn a_camera_follows_the_rate() {
    camera::main().unwrap();
}

#[test]
fn a_camera_sends_the_encoding_of_the_announced_scale() {
    encodings::main().unwrap();
}

#[test]
fn a_game_sends_in_both_directions() {
    game::main().unwrap();
}

#[test]
fn messages_have_their_own_methods() {
    messages::main().unwrap();
}

#[test]
fn an_rtp_sender_follows_the_rate() {
    rtp_sender::main().unwrap();
}

#[test]
fn a_sensor_gets_the_outcome_of_each_reading() {
    sensor::main().unwrap();
}

#[test]
fn hello_is_what_the_book_shows() {
    hello::main().unwrap();
    let (book, program) = (include_str!("../../../../docs/src/real.md"), include_str!("../examples/hello.rs"));
    let shown = book.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    // `main` of the example is `pub(crate)` so that this file can call it.
    assert_eq!(shown, program.replace("pub(crate) fn main", "fn main"));
}
