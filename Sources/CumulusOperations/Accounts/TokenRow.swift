// The register of a token as bytes: its owner, its purpose, and what must stay as it was for the
// token to be valid.
//
// Read and written by `Sessions`. Earlier releases knew only the name. The rest follows a zero
// byte, which no name holds.

package import CumulusModel
import CumulusStorage

package struct TokenRow: Hashable, Sendable {
    /// The purpose of a token; numbers as in `accounts.proto`.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt64

        package init(rawValue: UInt64) {
            self.rawValue = rawValue
        }

        /// The token of a device whose user signed in.
        package static let session = Kind(rawValue: 1)
        /// The token of a program, made by an operator.
        package static let access = Kind(rawValue: 2)
        /// The token of a browser whose user signed in.
        package static let web = Kind(rawValue: 3)

        /// Whether a user opened it by signing in; such a token expires by itself.
        var isSession: Bool { self == .session || self == .web }
    }

    /// The commits that last ended all sessions, of one user and of everybody; nil if none did.
    package struct Generations: Hashable, Sendable {
        package var user: Dot?
        package var everybody: Dot?
    }

    package struct Details: Hashable, Sendable {
        /// The owner's id; two users may have got one name on nodes that didn't know of each other.
        package var userID: Bytes
        package var kind: Kind
        /// A text for people.
        package var label: String = ""
        package var device: Bytes = []
        /// Milliseconds since 1970 UTC.
        package var opened: Int64
        /// Milliseconds since 1970 UTC; 0 means never.
        package var expires: Int64 = 0
        /// The version of the password that opened it; nil if none did.
        package var password: Dot?
        package var generations = Generations()
    }

    package var name: Bytes
    /// The rest; nil if an earlier release made the token, which then belongs to the user of that
    /// name and never expires.
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

    /// Bytes after the known parts belong to a later release.
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
