// The push address of a device as nodes keep it: a register of its scope, which replicates like a
// subscription. If two nodes write one address at the same time, the later write wins.
//
// Written by `RegisterPush` and `EndPushes`. Keys begin with the user, so the addresses of a user,
// or of all users of a scope, are one range. An address counts as long as the session lasts that
// registered it: who signs out is not told any more. How far a device was told is kept with the
// marks of webhooks, see `ReadMarks`, under a name that no webhook has.
//
// Folder: where devices are woken. Read `StoredPush` and `PushOffer+Judging`, then `RegisterPush`,
// `EndPushes`, `Pushes` and `EndedPushes`.

import Crypto
package import CumulusModel
package import CumulusStorage

package struct StoredPush: Hashable, Sendable {
    /// Names an address of a user.
    package struct ID: Hashable, Sendable {
        package static let byteCount = 16
        package let bytes: Bytes

        package init(bytes: Bytes) { self.bytes = bytes }

        /// The same for each user who registers the address.
        package init(of address: PushAddress) {
            var writer = CanonicalWriter()
            writer.varint(UInt64(address.service.rawValue))
            writer.delimited(address.token.utf8)
            writer.delimited(address.topic.utf8)
            writer.varint(address.isSandbox ? 1 : 0)
            bytes = Bytes(SHA256.hash(data: writer.bytes).prefix(ID.byteCount))
        }
    }

    /// User record name of its owner.
    package var user: String
    package var address: PushAddress
    /// The device id of the connection that registered it: it is not told what this device changes.
    package var device: Bytes
    /// SHA-256 of the token of the session that registered it.
    package var session: Bytes
    /// Milliseconds since 1970 UTC.
    package var registered: Int64

    package init(
        user: String,
        _ address: PushAddress,
        device: Bytes,
        session: Bytes,
        registered: Int64
    ) {
        self.user = user
        self.address = address
        self.device = device
        self.session = session
        self.registered = registered
    }

    package var id: ID { ID(of: address) }

    /// The namespace of its registers; the key is the user and the id.
    package static let namespace = PushRegister.namespace

    package var key: [Bytes] { [Bytes(user.utf8), id.bytes] }

    /// The register of what the device was told.
    package var marker: ReadMarks.Reader { StoredPush.marker(of: id, of: user) }

    /// Names of webhooks have no colon.
    package static func marker(of id: ID, of user: String) -> ReadMarks.Reader {
        ReadMarks.Reader(user, webhook: markerPrefix + id.bytes.hex)
    }

    private static let markerPrefix = "push:"

    /// The key of the address whose mark has a key; nil for the mark of a webhook.
    static func key(ofMarked key: [Bytes]) -> [Bytes]? {
        guard key.count == 2, let name = String(utf8: key[1][...]), name.hasPrefix(markerPrefix)
        else { return nil }
        guard let id = Bytes(hex: String(name.dropFirst(markerPrefix.count))) else { return nil }
        return [key[0], id]
    }

    /// Whether everything but the time is alike.
    package func says(_ other: StoredPush) -> Bool {
        var other = other
        other.registered = registered
        return self == other
    }

    // MARK: Bytes

    /// The form of values that this release writes.
    private static let form: UInt64 = 1

    /// The value of its register: everything but the user.
    package var value: Bytes {
        var writer = CanonicalWriter(reserving: 256)
        writer.varint(StoredPush.form)
        writer.varint(UInt64(address.service.rawValue))
        writer.delimited(address.token.utf8)
        writer.delimited(address.topic.utf8)
        writer.varint(address.isSandbox ? 1 : 0)
        writer.delimited(address.publicKey)
        writer.delimited(address.secret)
        writer.delimited(address.label.utf8)
        writer.delimited(device)
        writer.delimited(session)
        writer.varint(zigzag(registered))
        return writer.bytes
    }

    /// Decodes a register.
    package init(key: [Bytes], value: Bytes) throws(MalformedBytes) {
        guard key.count == 2, let user = String(utf8: key[0][...]) else {
            throw MalformedBytes("a push address has a key of another form")
        }
        self.user = user
        var reader = CanonicalReader(value)
        guard try reader.varint() == StoredPush.form,
            let number = UInt32(exactly: try reader.varint()),
            let service = PushService(rawValue: number)
        else { throw MalformedBytes("a push address was written by a later release") }
        address = PushAddress(
            service: service,
            token: try reader.text(),
            topic: try reader.text(),
            isSandbox: try reader.varint() == 1,
            publicKey: try reader.delimitedBytes(),
            secret: try reader.delimitedBytes(),
            label: try reader.text()
        )
        device = try reader.delimitedBytes()
        session = try reader.delimitedBytes()
        registered = try reader.signed()
        guard reader.isAtEnd, self.key == key, self.value == value else {
            throw MalformedBytes("a push address is not in its canonical form")
        }
    }
}
