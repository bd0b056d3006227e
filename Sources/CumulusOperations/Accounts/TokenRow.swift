// The register of a token as bytes: whom it belongs to, what it was made for, and what has to stay
// as it was for it to be good.
//
// Read and written by `Sessions`. Releases before knew only the name; what follows it stands behind
// a zero byte, which no name holds.

package import CumulusModel
import CumulusStorage

package struct TokenRow: Hashable, Sendable {
    /// What a token was made for; numbers as in `accounts.proto`.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt64

        package init(rawValue: UInt64) {
            self.rawValue = rawValue
        }

        /// Of a device whose user signed in.
        package static let session = Kind(rawValue: 1)
        /// Of a program, made by an operator.
        package static let access = Kind(rawValue: 2)
        /// Of a browser whose user signed in.
        package static let web = Kind(rawValue: 3)

        /// A user opened it by signing in, and it ends by itself.
        var isSession: Bool { self == .session || self == .web }
    }

    /// The commits that last ended all sessions, of a user and of everybody; nil: none did.
    package struct Generations: Hashable, Sendable {
        package var user: Dot?
        package var everybody: Dot?
    }

    package struct Details: Hashable, Sendable {
        /// Two users may have registered one name on nodes that didn't hear of each other.
        package var userID: Bytes
        package var kind: Kind
        /// For people.
        package var label: String = ""
        package var device: Bytes = []
        /// Milliseconds since 1970 UTC.
        package var opened: Int64
        /// Milliseconds since 1970 UTC; 0: never.
        package var expires: Int64 = 0
        /// The password that it was opened with; nil: it was opened without one.
        package var password: Dot?
        package var generations = Generations()
    }

    package var name: Bytes
    /// nil: a release before made it, so it belongs to the user of that name and never expires.
    package var details: Details?

    var generations: Generations { details?.generations ?? Generations() }
    var expires: Int64 { details?.expires ?? 0 }

    // MARK: Bytes

    var value: Bytes {
        guard let details else { return name }
        var writer = CanonicalWriter()
        writer.raw(name)
        writer.raw([0])
        writer.delimited(details.userID)
        writer.varint(details.kind.rawValue)
        writer.delimited(details.label.utf8)
        writer.delimited(details.device)
        writer.varint(zigzag(details.opened))
        writer.varint(zigzag(details.expires))
        let (password, generations) = (details.password, details.generations)
        for dot in [password, generations.user, generations.everybody] {
            writer.varint(dot == nil ? 0 : 1)
            if let dot { writer.dot(dot) }
        }
        return writer.bytes
    }

    init(name: Bytes, details: Details?) {
        self.name = name
        self.details = details
    }

    /// What follows the known parts is a later release's.
    init(_ value: Bytes) throws(MalformedBytes) {
        name = Bytes(value.prefix { $0 != 0 })
        guard name.count < value.count else { return }
        var reader = CanonicalReader(Bytes(value.dropFirst(name.count + 1)))
        func dot() throws(MalformedBytes) -> Dot? {
            try reader.varint() == 0 ? nil : try reader.dot()
        }
        details = Details(
            userID: try reader.delimitedBytes(),
            kind: Kind(rawValue: try reader.varint()),
            label: try reader.text(),
            device: try reader.delimitedBytes(),
            opened: try reader.signed(),
            expires: try reader.signed(),
            password: try dot(),
            generations: Generations(user: try dot(), everybody: try dot())
        )
    }
}
