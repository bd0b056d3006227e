// Users as others find them, and what a user says of itself.
//
// Made by `Container+People`, and listed by `NodeOperator` too.

public import CumulusModel
import CumulusSystem
import CumulusWire

/// A user who wants to be found, as others find it.
public struct UserIdentity: Hashable, Sendable {
    /// The address or record by which a user is looked up.
    public enum LookupInfo: Hashable, Sendable {
        /// An e-mail address; case, composition and the width of ASCII's letters make no
        /// difference.
        ///
        /// Nodes refuse other compatibility forms of Unicode, such as ligatures.
        case emailAddress(String)
        /// A telephone number with its country, such as "+49 30 1234567".
        case phoneNumber(String)
        /// The user's record in the container that asks.
        case userRecordID(Record.ID)
    }

    /// The user's record in the container that asked.
    public let userRecordID: Record.ID
    /// The name that the user has chosen; may be empty.
    public let displayName: String
    /// The address or record by which it was found.
    public let lookupInfo: LookupInfo

    /// nil for the answer that says nothing.
    init?(_ found: DiscoveredUser, by info: LookupInfo) {
        guard !found.user.isEmpty else { return nil }
        userRecordID = Record.ID(recordName: found.user)
        displayName = found.displayName
        lookupInfo = info
    }
}

/// The profile that a user has set.
public struct UserProfile: Hashable, Sendable {
    /// A name for people; may be empty.
    public var displayName: String
    /// Whether others find the user by its handles and its record.
    public var isDiscoverable: Bool

    /// A profile to be set.
    public init(displayName: String = "", isDiscoverable: Bool = false) {
        self.displayName = displayName
        self.isDiscoverable = isDiscoverable
    }
}

extension UserProfile {
    init(_ wire: WireProfile) {
        self.init(displayName: wire.displayName, isDiscoverable: wire.isDiscoverable)
    }
}

extension UserIdentity.LookupInfo {
    /// The handle in its one spelling, as it is sent; nil for a user's record, which is no handle.
    var handle: WireHandle? {
        switch self {
        case .emailAddress(let address):
            return WireHandle(kind: 1, value: Bytes(address.inHalfWidth.lowercased().trimmed.utf8))
        case .phoneNumber(let number):
            let plain = number.filter { !" -()./".contains($0) }
            return WireHandle(kind: 2, value: Bytes(plain.utf8))
        case .userRecordID: return nil
        }
    }

    /// The name of a user's record, as it is sent; nil for handles.
    var userRecordName: Bytes? {
        guard case .userRecordID(let id) = self else { return nil }
        return Bytes(id.recordName.utf8)
    }

    /// nil for a kind that this release of the library doesn't know.
    init?(_ wire: WireHandle) {
        let text = String(decoding: wire.value, as: UTF8.self)
        switch wire.kind {
        case 1: self = .emailAddress(text)
        case 2: self = .phoneNumber(text)
        default: return nil
        }
    }
}

extension String {
    /// The text with ASCII's characters in place of their forms of full width, which keyboards of
    /// East Asia write.
    fileprivate var inHalfWidth: String {
        var text = UnicodeScalarView()
        for scalar in unicodeScalars {
            let isWide = ("\u{FF01}"..."\u{FF5E}").contains(scalar)
            text.append(isWide ? Unicode.Scalar(scalar.value - 0xFEE0) ?? scalar : scalar)
        }
        return String(text)
    }
}
