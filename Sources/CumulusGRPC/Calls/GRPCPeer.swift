// The other end of a gRPC connection, as gRPC describes it in words: `ipv4:127.0.0.1:5000`.
//
// Read once per call. The node counts a caller without a token by its address.

import CumulusModel
import CumulusTransport
import NIOCore

struct GRPCPeer: Equatable, Sendable {
    /// IP address: 4 or 16 bytes; empty if it is not known.
    let address: Bytes
    let isLoopback: Bool

    init(_ description: String) {
        let parts = description.split(separator: ":", maxSplits: 1)
        let host = parts.count == 2 ? GRPCPeer.host(in: parts[1]) : ""
        let address = try? SocketAddress(ipAddress: host, port: 0)
        self.address = address?.addressBytes ?? []
        isLoopback = address?.isLoopback ?? false
    }

    /// The host before the last colon, without its brackets.
    private static func host(in text: Substring) -> String {
        guard let colon = text.lastIndex(of: ":") else { return "" }
        let host = text[..<colon]
        return String(host.hasPrefix("[") ? host.dropFirst().dropLast() : host)
    }
}
