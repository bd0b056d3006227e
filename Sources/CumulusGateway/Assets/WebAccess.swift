// The rights of a sealed link: its target, the caller's proof, and the web app that asked for it.
//
// Written into every link that the gateway hands out. The node asks for the rights of that caller
// each time that the link is used, so a link never gives more than its caller has at that moment.

import Crypto
package import CumulusModel
package import CumulusNode

package struct WebAccess: Hashable, Sendable {
    /// The proof that the caller had shown when it got the link.
    package enum Proof: Hashable, Sendable {
        case nothing
        /// The session whose token has this SHA-256.
        case session(Bytes)
        /// A server's key, by its id.
        case server(Bytes)
    }

    package var scope: ScopeID
    package var database: DatabaseScope
    package var proof: Proof
    /// SHA-256 of the app's API token; empty for a server.
    package var api: Bytes

    package init(_ scope: ScopeID, _ database: DatabaseScope, _ proof: Proof, api: Bytes) {
        self.scope = scope
        self.database = database
        self.proof = proof
        self.api = api
    }

    /// The entrance that lets the caller in again.
    ///
    /// A server signed the request that made the link.
    package func entrance(address: Bytes, isSecret: Bool) -> LocalEntrance {
        let shown: LocalEntrance.Proof =
            switch proof {
            case .nothing: .nothing
            case .session(let digest): .session(digest: digest)
            case .server(let id): .serviceKey(id: id) { _ in true }
            }
        return LocalEntrance(
            scope,
            shown,
            address: address,
            device: device(of: ""),
            isSecret: isSecret
        )
    }

    /// The device id of a client: what a client changes is not told to it.
    ///
    /// Each client of a session is a device of its own, and so are all without a `clientId`.
    ///
    /// - Parameter clientID: The client's `clientId`; empty if it has none.
    func device(of clientID: String) -> Bytes {
        guard case .session(let digest) = proof else { return [] }
        if clientID.isEmpty { return Bytes(digest.prefix(16)) }
        return Bytes(SHA256.hash(data: digest + Bytes(clientID.utf8)).prefix(16))
    }

    // MARK: Bytes

    func write(to writer: inout CanonicalWriter) {
        writer.delimited(scope.container.utf8)
        writer.varint(UInt64(scope.environment.rawValue))
        writer.varint(UInt64(database.rawValue))
        switch proof {
        case .nothing: writer.varint(0)
        case .session(let digest):
            writer.varint(1)
            writer.delimited(digest)
        case .server(let id):
            writer.varint(2)
            writer.delimited(id)
        }
        writer.delimited(api)
    }

    init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        let container = try reader.text()
        let number = UInt8(truncatingIfNeeded: try reader.varint())
        let kind = UInt8(truncatingIfNeeded: try reader.varint())
        guard let environment = Environment(rawValue: number),
            let database = DatabaseScope(rawValue: kind)
        else { throw MalformedBytes("a link to no database") }
        scope = ScopeID(container: container, environment: environment)
        self.database = database
        switch try reader.varint() {
        case 0: proof = .nothing
        case 1: proof = .session(try reader.delimitedBytes())
        case 2: proof = .server(try reader.delimitedBytes())
        default: throw MalformedBytes("a link of no caller")
        }
        api = try reader.delimitedBytes()
    }
}
