//! How a byte stream to a broker is made: TCP, secured if asked for, in the product; in-memory pipes in tests.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::TryFutureExt as _;
use kafka_protocol::protocol::StrBytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};

use super::exhausted;
use crate::ids::HostPort;
use crate::kafka::net::security::{Identity, Stream};

/// Makes streams.
pub trait Connector: Clone + Debug + Send + Sync + 'static {
    /// What it makes.
    type Stream: AsyncRead + AsyncWrite + Debug + Send + Unpin + 'static;

    /// Connects to a listener. `attempt` counts the attempts to this node so far: where a host has several addresses, each attempt takes the
    /// next (Java: `client.dns.lookup=use_all_dns_ips`).
    fn connect(&self, address: HostPort, attempt: u32) -> impl Future<Output = io::Result<Self::Stream>> + Send + 'static;
}

/// Plain TCP, without Nagle's delay and with keep-alive probes.
#[derive(Clone, Copy, Debug)]
pub struct TcpConnector {
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
}

impl TcpConnector {
    /// One whose sockets have these buffers (`send.buffer.bytes`, `receive.buffer.bytes`); `None`: as large as the system likes.
    #[must_use]
    pub fn new(send_buffer_bytes: Option<u32>, receive_buffer_bytes: Option<u32>) -> Self {
        Self { send_buffer_bytes, receive_buffer_bytes }
    }

    async fn open(self, address: HostPort, attempt: u32) -> io::Result<TcpStream> {
        let target = resolve(&address, attempt).await?;
        let socket = if target.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        exhausted::leave_room(&socket)?;
        // Before the handshake, for the window is agreed in it.
        if let Some(bytes) = self.send_buffer_bytes {
            socket.set_send_buffer_size(bytes)?;
        }
        if let Some(bytes) = self.receive_buffer_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        let stream = socket.connect(target).await?;
        stream.set_nodelay(true)?;
        socket2::SockRef::from(&stream).set_keepalive(true)?;
        if stream.local_addr()? == target {
            // A free port in the ephemeral range can be connected to from itself; no broker is there.
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "connected to itself"));
        }
        Ok(stream)
    }
}

impl Connector for TcpConnector {
    type Stream = TcpStream;

    fn connect(&self, address: HostPort, attempt: u32) -> impl Future<Output = io::Result<TcpStream>> + Send + 'static {
        self.open(address, attempt).inspect_err(exhausted::note)
    }
}

/// TCP with what secures it: a stream is handed on when the broker and the client have accepted each other.
#[derive(Clone, Debug)]
pub struct BrokerConnector {
    tcp: TcpConnector,
    identity: Identity,
}

impl BrokerConnector {
    /// One for a client.
    #[must_use]
    pub fn new(tcp: TcpConnector, identity: Identity) -> Self {
        Self { tcp, identity }
    }

    async fn open(self, address: HostPort, attempt: u32) -> io::Result<Stream<TcpStream>> {
        let Self { tcp, identity } = self;
        let host = Arc::clone(&address.host);
        let stream = tcp.connect(address, attempt).await?;
        let client_id = StrBytes::from_string(identity.client_id.to_string());
        let secured = identity.security.secure(stream, &host, &client_id).await;
        secured.map(|secured| secured.stream).map_err(io::Error::other)
    }
}

impl Connector for BrokerConnector {
    type Stream = Stream<TcpStream>;

    fn connect(&self, address: HostPort, attempt: u32) -> impl Future<Output = io::Result<Stream<TcpStream>>> + Send + 'static {
        self.clone().open(address, attempt)
    }
}

async fn resolve(address: &HostPort, attempt: u32) -> io::Result<SocketAddr> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((&*address.host, address.port)).await?.collect();
    let preferred_is_v4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let family: Vec<SocketAddr> = addresses.into_iter().filter(|address| address.is_ipv4() == preferred_is_v4).collect();
    let position = (attempt as usize).checked_rem(family.len());
    position.map(|position| family[position]).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{address} has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sockets_have_the_buffers_that_were_asked_for() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = HostPort::new("127.0.0.1", listener.local_addr().unwrap().port());
        let open = async |send, receive| {
            let stream = TcpConnector::new(send, receive).connect(address.clone(), 0).await.unwrap();
            let socket = socket2::SockRef::from(&stream);
            (socket.send_buffer_size().unwrap(), socket.recv_buffer_size().unwrap())
        };
        let system = open(None, None).await;
        let small = open(Some(16_384), Some(8_192)).await;
        // Linux books twice of what is asked for.
        assert!(small == (16_384, 8_192) || small == (32_768, 16_384), "{small:?}");
        assert_ne!(system, small);
    }
}
