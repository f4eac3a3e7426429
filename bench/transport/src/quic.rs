//! quinn: QUIC datagrams, encrypted, with its congestion control.

use crate::{Done, Job, Kind, cpu};
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn transport() -> Arc<quinn::TransportConfig> {
    let mut transport = quinn::TransportConfig::default();
    transport.initial_mtu(1452).datagram_send_buffer_size(4 << 20).datagram_receive_buffer_size(Some(16 << 20));
    Arc::new(transport)
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub fn run(job: &Job) -> Done {
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let certificate: rustls::pki_types::CertificateDer<'static> = made.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.key_pair.serialize_der().into());
    let (address_sender, address) = std::sync::mpsc::channel();
    let receiver = {
        let (job, certificate) = (job.clone(), certificate.clone());
        std::thread::spawn(move || runtime().block_on(receive(&job, certificate, key, address_sender)))
    };
    let address = address.recv().unwrap();
    let (sent, wall, before) = runtime().block_on(send(job, certificate, address));
    Done { sent, latencies: receiver.join().unwrap(), wall, before }
}

/// Creates a server and a client with certificates.
pub fn ends() -> (quinn::Endpoint, quinn::Endpoint) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let certificate: rustls::pki_types::CertificateDer<'static> = made.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.key_pair.serialize_der().into());
    let mut config = quinn::ServerConfig::with_single_cert(vec![certificate.clone()], key).unwrap();
    config.transport_config(transport());
    let server = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut config = quinn::ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    config.transport_config(transport());
    let mut client = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    client.set_default_client_config(config);
    (server, client)
}

/// Returns bytes of memory per end of a connection.
pub fn idle(many: usize) -> f64 {
    drop(rustls::crypto::ring::default_provider().install_default());
    runtime().block_on(async {
        let (server, client) = ends();
        let address = server.local_addr().unwrap();
        let accepting = tokio::spawn(async move {
            let mut all = Vec::new();
            for _ in 0..many + 10 {
                all.push(server.accept().await.unwrap().await.unwrap());
            }
            (server, all)
        });
        let mut all = Vec::new();
        let mut before = 0.0;
        for n in 0..many + 10 {
            if n == 10 {
                before = crate::resident();
            }
            all.push(client.connect(address, "localhost").unwrap().await.unwrap());
        }
        let accepted = accepting.await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let bytes = crate::resident() - before;
        drop((accepted, all));
        bytes / many as f64 / 2.0
    })
}

/// Returns seconds from the start of the connection to the arrival of the first datagram.
pub fn first(path: crate::first::Path) -> f64 {
    drop(rustls::crypto::ring::default_provider().install_default());
    runtime().block_on(async {
        let (server, client) = ends();
        let address = crate::first::behind_link(server.local_addr().unwrap(), path);
        let arrival = tokio::spawn(async move {
            let connection = server.accept().await.unwrap().await.unwrap();
            connection.read_datagram().await.unwrap();
            Instant::now()
        });
        let begin = Instant::now();
        let connection = client.connect(address, "localhost").unwrap().await.unwrap();
        while !arrival.is_finished() {
            connection.send_datagram(Bytes::from_static(&[1; 1000])).unwrap();
            tokio::time::sleep(crate::first::GAP).await;
        }
        arrival.await.unwrap().duration_since(begin).as_secs_f64()
    })
}

async fn receive(
    job: &Job,
    certificate: rustls::pki_types::CertificateDer<'static>,
    key: rustls::pki_types::PrivateKeyDer<'static>,
    address_sender: std::sync::mpsc::Sender<std::net::SocketAddr>,
) -> Vec<u64> {
    let mut config = quinn::ServerConfig::with_single_cert(vec![certificate], key).unwrap();
    config.transport_config(transport());
    let server = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    address_sender.send(server.local_addr().unwrap()).unwrap();
    let connection = server.accept().await.unwrap().await.unwrap();
    let mut latencies = Vec::with_capacity(1 << 22);
    while let Ok(Ok(datagram)) = tokio::time::timeout(Duration::from_millis(500), connection.read_datagram()).await {
        latencies.push(job.latency(&datagram));
    }
    latencies
}

async fn send(
    job: &Job,
    certificate: rustls::pki_types::CertificateDer<'static>,
    address: std::net::SocketAddr,
) -> (u64, f64, f64) {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut config = quinn::ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    config.transport_config(transport());
    let mut client = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    client.set_default_client_config(config);
    let connection = client.connect(address, "localhost").unwrap().await.unwrap();
    let (before, begin) = (cpu(), Instant::now());
    let (mut datagram, mut sent) = (vec![0; job.length], 0);
    while let Some(due) = job.due(begin, sent) {
        if job.kind == Kind::Rate {
            tokio::time::sleep_until(due.into()).await;
        }
        job.stamp(&mut datagram);
        connection.send_datagram_wait(Bytes::copy_from_slice(&datagram)).await.unwrap();
        sent += 1;
    }
    let wall = begin.elapsed().as_secs_f64();
    tokio::time::sleep(Duration::from_millis(300)).await;
    (sent, wall, before)
}
