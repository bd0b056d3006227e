// Finding other users, and whether the user wants to be found: with `await`.
//
// Users who don't want to be found are absent from results.

internal import Cumulus

extension CKContainer {
    /// The permissions that an app may ask its user for.
    public struct ApplicationPermissions: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt
        /// Permissions from their bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Others find the user by its e-mail address, its telephone number and its record.
        public static let userDiscoverability = ApplicationPermissions(rawValue: 1 << 0)
    }

    /// Whether the user allowed it.
    public enum ApplicationPermissionStatus: Int, Sendable {
        /// The user has not allowed it.
        case initialState = 0
        /// It could not be asked.
        case couldNotComplete = 1
        /// The user refused; nodes don't keep that.
        case denied = 2
        /// The user allows it.
        case granted = 3
    }

    /// A function that is told whether the user allowed it.
    public typealias ApplicationPermissionBlock =
        (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void

    /// The old names of permissions.
    public enum Application {
        /// The old name of `ApplicationPermissions`.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
        public typealias Permissions = CKContainer.ApplicationPermissions
        /// The old name of `ApplicationPermissionStatus`.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        /// The old name of `ApplicationPermissionBlock`.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }

    /// Lets others find the user; no user is asked on this system.
    @discardableResult
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        try await call { container in
            guard applicationPermission.contains(.userDiscoverability) else {
                return .initialState
            }
            var profile = try await container.userProfile()
            profile.isDiscoverable = true
            try await container.setUserProfile(profile)
            return .granted
        }
    }

    /// Whether others find the user.
    @discardableResult
    public func applicationPermissionStatus(
        for applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        try await call { container in
            try await container.userProfile().isDiscoverable ? .granted : .initialState
        }
    }

    /// The user with an e-mail address; nil if no user who wants to be found has it.
    @discardableResult
    public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
        try await userIdentities(for: [.init(emailAddress: email)]).first
    }

    /// The user with a telephone number; nil if no user who wants to be found has it.
    @discardableResult
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await userIdentities(for: [.init(phoneNumber: phoneNumber)]).first
    }

    /// The user of a record; nil if it is neither the signed-in user nor one who wants to be
    /// found.
    @discardableResult
    public func userIdentity(
        forUserRecordID userRecordID: CKRecord.ID
    ) async throws -> CKUserIdentity? {
        try await userIdentities(for: [.init(userRecordID: userRecordID)]).first
    }

    /// The users with these e-mail addresses.
    public func userIdentities(
        forEmailAddresses emails: [String]
    ) async throws -> [String: CKUserIdentity] {
        try await userIdentities(for: CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails))
            .reduce(into: [:]) { $0[$1.lookupInfo?.emailAddress ?? ""] = $1 }
    }

    /// The users with these telephone numbers.
    public func userIdentities(
        forPhoneNumbers numbers: [String]
    ) async throws -> [String: CKUserIdentity] {
        let infos = CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: numbers)
        return try await userIdentities(for: infos)
            .reduce(into: [:]) { $0[$1.lookupInfo?.phoneNumber ?? ""] = $1 }
    }

    /// The users of these records: the signed-in user, and users who want to be found.
    public func userIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await userIdentities(
            for: CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs)
        )
        .reduce(into: [:]) { found, identity in
            if let id = identity.userRecordID { found[id] = identity }
        }
    }

    /// Empty: there are no contacts on this system.
    @discardableResult
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] { [] }

    /// The users that are found, in the order of the look-ups.
    func userIdentities(
        for infos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity] {
        try await call { container in
            let emails = try await container.userIdentities(
                forEmailAddresses: infos.compactMap(\.emailAddress)
            )
            let numbers = try await container.userIdentities(
                forPhoneNumbers: infos.compactMap(\.phoneNumber)
            )
            let ids = infos.compactMap(\.userRecordID)
            let own = try await container.ownIdentity(among: ids)
            let others = try await container.userIdentities(
                forUserRecordIDs: ids.filter { $0 != own?.userRecordID }.map(\.model)
            )
            return infos.compactMap { info in
                if let email = info.emailAddress {
                    return emails[email].map { CKUserIdentity($0, info) }
                }
                if let number = info.phoneNumber {
                    return numbers[number].map { CKUserIdentity($0, info) }
                }
                guard let id = info.userRecordID else { return nil }
                return own?.userRecordID == id
                    ? own : others[id.model].map { CKUserIdentity($0, info) }
            }
        }
    }
}

extension Container {
    /// The signed-in user, if it is one of those users.
    fileprivate func ownIdentity(among ids: [CKRecord.ID]) async throws -> CKUserIdentity? {
        guard !ids.isEmpty else { return nil }
        let id = CKRecord.ID(try await userRecordID())
        guard ids.contains(id) else { return nil }
        return CKUserIdentity(try await userProfile(), id)
    }
}
