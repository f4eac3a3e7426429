//! quinn: QUIC's unreliable datagrams, encrypted, with its congestion control.

use crate::{Done, Job, Kind, cpu};
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn transport() -> Arc<quinn::TransportConfig> {
    let mut transport = quinn::TransportConfig::default();
    transport.initial_mtu(1452).datagram_send_buffer_size(4 << 20).datagram_receive_buffer_size(Some(16 << 20));
    Arc::new(transport)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub fn run(job: &Job) -> Done {
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let certificate: rustls::pki_types::CertificateDer<'static> = made.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.key_pair.serialize_der().into());
    let (told, address) = std::sync::mpsc::channel();
    let receiver = {
        let (job, certificate) = (job.clone(), certificate.clone());
        std::thread::spawn(move || runtime().block_on(receive(&job, certificate, key, told)))
    };
    let address = address.recv().unwrap();
    let (sent, wall, before) = runtime().block_on(send(job, certificate, address));
    Done { sent, latencies: receiver.join().unwrap(), wall, before }
}

async fn receive(
    job: &Job,
    certificate: rustls::pki_types::CertificateDer<'static>,
    key: rustls::pki_types::PrivateKeyDer<'static>,
    told: std::sync::mpsc::Sender<std::net::SocketAddr>,
) -> Vec<u64> {
    let mut config = quinn::ServerConfig::with_single_cert(vec![certificate], key).unwrap();
    config.transport_config(transport());
    let server = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    told.send(server.local_addr().unwrap()).unwrap();
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
