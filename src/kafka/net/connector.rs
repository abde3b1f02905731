//! How a byte stream to a broker is made: TCP in the product, in-memory pipes in tests. TLS and SASL have their place here.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::ids::HostPort;

/// Makes streams.
pub trait Connector: Clone + Debug + Send + Sync + 'static {
    /// What it makes.
    type Stream: AsyncRead + AsyncWrite + Debug + Send + Unpin + 'static;

    /// Connects to a listener. `attempt` counts the attempts to this node so far: where a host has several addresses, each attempt takes the
    /// next (Java: `client.dns.lookup=use_all_dns_ips`).
    fn connect(&self, address: HostPort, attempt: u32) -> impl Future<Output = io::Result<Self::Stream>> + Send + 'static;
}

/// Plain TCP, without Nagle's delay and with keep-alive probes.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpConnector;

impl Connector for TcpConnector {
    type Stream = TcpStream;

    fn connect(&self, address: HostPort, attempt: u32) -> impl Future<Output = io::Result<TcpStream>> + Send + 'static {
        connect_tcp(address, attempt)
    }
}

async fn connect_tcp(address: HostPort, attempt: u32) -> io::Result<TcpStream> {
    let target = resolve(&address, attempt).await?;
    let stream = TcpStream::connect(target).await?;
    stream.set_nodelay(true)?;
    socket2::SockRef::from(&stream).set_keepalive(true)?;
    if stream.local_addr()? == target {
        // A free port in the ephemeral range can be connected to from itself; no broker is there.
        return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "connected to itself"));
    }
    Ok(stream)
}

async fn resolve(address: &HostPort, attempt: u32) -> io::Result<SocketAddr> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((&*address.host, address.port)).await?.collect();
    let preferred_is_v4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let family: Vec<SocketAddr> = addresses.into_iter().filter(|address| address.is_ipv4() == preferred_is_v4).collect();
    let position = (attempt as usize).checked_rem(family.len());
    position.map(|position| family[position]).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{address} has no address")))
}
