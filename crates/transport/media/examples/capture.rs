//! Prints one line for each UDP datagram of a capture: packet, ns after the first packet, sender, receiver, payload in
//! bytes, RTP payload type. `validation/tshark/run --only captures` compares the lines with tshark.
#![allow(clippy::print_stdout, reason = "the purpose of the program")]

use headway_media::Capture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: capture FILE")?;
    let capture = Capture::parse(&std::fs::read(file)?)?;
    for datagram in capture.datagrams() {
        let Some([from, to]) = capture.flow(datagram.flow) else { continue };
        let [at, payload_type] =
            [datagram.at.map(|at| at.to_string()), datagram.payload_type.map(|kind| kind.to_string())];
        let [at, payload_type] = [at, payload_type].map(|text| text.unwrap_or_else(|| "-".to_owned()));
        println!("{} {at} {from} {to} {} {payload_type}", datagram.packet, datagram.bytes);
    }
    Ok(())
}
