// A user as others find it.
//
// Made by look-ups of users.
//
// Folder: finding other users. Read `CKUserIdentity`, then `CKContainer+Discovery`.

internal import Cumulus
public import Foundation

/// The address or record by which a user is looked up: `CKUserIdentity.LookupInfo`.
public final class CKUserIdentityLookupInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// An e-mail address.
    public let emailAddress: String?
    /// A telephone number with its country.
    public let phoneNumber: String?
    /// The user's record.
    public let userRecordID: CKRecord.ID?

    /// A user with an e-mail address.
    public convenience init(emailAddress: String) { self.init(emailAddress, nil, nil) }

    /// A user with a telephone number.
    public convenience init(phoneNumber: String) { self.init(nil, phoneNumber, nil) }

    /// The user of a record.
    public convenience init(userRecordID: CKRecord.ID) { self.init(nil, nil, userRecordID) }

    private init(_ emailAddress: String?, _ phoneNumber: String?, _ userRecordID: CKRecord.ID?) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.userRecordID = userRecordID
    }

    /// Users with these e-mail addresses.
    public static func lookupInfos(withEmails emails: [String]) -> [CKUserIdentityLookupInfo] {
        emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// Users with these telephone numbers.
    public static func lookupInfos(
        withPhoneNumbers phoneNumbers: [String]
    ) -> [CKUserIdentityLookupInfo] {
        phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// The users of these records.
    public static func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentityLookupInfo] {
        recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    /// Whether both look up the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentityLookupInfo else { return false }
        return other.emailAddress == emailAddress && other.phoneNumber == phoneNumber
            && other.userRecordID == userRecordID
    }

    /// Equal for equal look-ups.
    public override var hash: Int {
        emailAddress?.hashValue ?? phoneNumber?.hashValue ?? userRecordID.hashValue
    }

    /// The look-up itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives what is looked up.
    public func encode(with coder: NSCoder) {
        if let emailAddress { coder.encode(emailAddress as NSString, forKey: "emailAddress") }
        if let phoneNumber { coder.encode(phoneNumber as NSString, forKey: "phoneNumber") }
        if let userRecordID { coder.encode(userRecordID, forKey: "userRecordID") }
    }

    /// A look-up from an archive.
    public init?(coder: NSCoder) {
        emailAddress = coder.decodeText(forKey: "emailAddress")
        phoneNumber = coder.decodeText(forKey: "phoneNumber")
        userRecordID = coder.decode(CKRecord.ID.self, forKey: "userRecordID")
    }
}

/// A user who wants to be found, as others find it.
public final class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The address or record by which a user is looked up.
    public typealias LookupInfo = CKUserIdentityLookupInfo

    /// The user's record in the container that asked.
    public let userRecordID: CKRecord.ID?
    /// The address or record by which the user was found.
    public let lookupInfo: LookupInfo?
    /// The name that the user has chosen; nil if there is none.
    public let nameComponents: PersonNameComponents?

    init(_ identity: UserIdentity, _ info: LookupInfo) {
        userRecordID = CKRecord.ID(identity.userRecordID)
        lookupInfo = info
        nameComponents = CKUserIdentity.components(of: identity.displayName)
    }

    /// Somebody whose name is not told.
    init(_ id: CKRecord.ID?, _ info: LookupInfo?) {
        userRecordID = id
        lookupInfo = info
        nameComponents = nil
    }

    /// The signed-in user, found by its record.
    init(_ profile: UserProfile, _ id: CKRecord.ID) {
        userRecordID = id
        lookupInfo = LookupInfo(userRecordID: id)
        nameComponents = CKUserIdentity.components(of: profile.displayName)
    }

    /// A name in words: the last one is the family's.
    private static func components(of name: String) -> PersonNameComponents? {
        let words = name.split(whereSeparator: \.isWhitespace)
        guard let first = words.first, let last = words.last else { return nil }
        var components = PersonNameComponents()
        components.givenName =
            words.count == 1
            ? String(first)
            : words.dropLast().joined(
                separator: " "
            )
        components.familyName = words.count == 1 ? nil : String(last)
        return components
    }

    /// Whether it is known as a user: others are found only if they have an account, but
    /// somebody may be invited who has none yet.
    public var hasiCloudAccount: Bool { userRecordID != nil }

    /// Empty: there are no contacts on this system.
    public var contactIdentifiers: [String] { [] }

    /// The identity itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the user's name and record, and by what the user was found.
    public func encode(with coder: NSCoder) {
        if let userRecordID { coder.encode(userRecordID, forKey: "userRecordID") }
        if let lookupInfo { coder.encode(lookupInfo, forKey: "lookupInfo") }
        if let name = nameComponents?.givenName {
            coder.encode(name as NSString, forKey: "givenName")
        }
        if let name = nameComponents?.familyName {
            coder.encode(name as NSString, forKey: "familyName")
        }
    }

    /// An identity from an archive.
    public init?(coder: NSCoder) {
        userRecordID = coder.decode(CKRecord.ID.self, forKey: "userRecordID")
        lookupInfo = coder.decode(LookupInfo.self, forKey: "lookupInfo")
        let given = coder.decodeText(forKey: "givenName")
        nameComponents = given.map { given in
            var components = PersonNameComponents()
            components.givenName = given
            components.familyName = coder.decodeText(forKey: "familyName")
            return components
        }
    }
}
