// Whether somebody is signed in, what the user says of itself, and looking others up.

import CumulusModel
import CumulusWire

/// Whether a container has a caller that its nodes let in.
public enum AccountStatus: String, Sendable {
    /// No node could be asked.
    case couldNotDetermine
    /// A user is signed in, or a server with its key.
    case available
    /// The container has no access token and no service key, or one that lets nobody in.
    case noAccount
    /// The nodes that could be asked don't serve now.
    case temporarilyUnavailable
}

extension Container {
    /// Asks a node whether this container's caller is let in.
    ///
    /// A container has one caller for life. To learn of a change of callers, use a ``SyncEngine``,
    /// whose state remembers the last one (``SyncEngine/Event/accountChange(_:)``).
    public func accountStatus() async -> AccountStatus {
        guard !core.settings.isAnonymous else { return .noAccount }
        do {
            let answer = try await core.read(.accountsWhoAmI, [])
            let caller = try decoding { try WhoAmIResponse(wire: answer.first ?? []).caller }
            return caller.user.isEmpty ? .noAccount : .available
        } catch let error as ServiceError {
            switch error.code {
            case .notAuthenticated: return .noAccount
            case .serviceUnavailable, .requestRateLimited, .zoneBusy:
                return .temporarilyUnavailable
            default: return .couldNotDetermine
            }
        } catch {
            return .couldNotDetermine
        }
    }

    /// Whether nodes let this container's caller in, each time that this changes.
    ///
    /// It begins with what calls have found so far, if there was one. It tells `available` once a
    /// call is answered: the caller is signed in. It tells `noAccount` when a call is refused or a
    /// stream ends because the session was revoked or has expired, its user was disabled or has
    /// another password, and after ``signOut()``; calls of an app find out, so nothing is told to
    /// one that makes none. A node that has not heard of a new session refuses it like any unknown
    /// token, so `available` may follow. It ends when the container is closed.
    ///
    /// ```swift
    /// for await status in container.accountStatusChanges where status == .noAccount {
    ///     showSignIn()
    /// }
    /// ```
    public var accountStatusChanges: AsyncStream<AccountStatus> { core.account.changes() }

    // MARK: Oneself

    /// The profile that the signed-in user has set, the same in all containers.
    ///
    /// - Throws: `notAuthenticated` without an access token.
    public func userProfile() async throws -> UserProfile {
        UserProfile(try await core.profile(of: []))
    }

    /// Sets what the signed-in user says of itself, in all containers.
    ///
    /// - Throws: `notAuthenticated` without an access token; `invalidArguments` for a name of more
    ///   than 255 bytes.
    public func setUserProfile(_ profile: UserProfile) async throws {
        let request = SetProfileRequest(
            displayName: Bytes(profile.displayName.utf8),
            isDiscoverable: profile.isDiscoverable
        )
        _ = try await core.read(.accountsSetProfile, request.encoded())
    }

    // MARK: Others

    /// The user with an e-mail address; nil if no user who wants to be found has it.
    ///
    /// - Throws: `notAuthenticated` without an access token; `invalidArguments` for what is no
    ///   address.
    public func userIdentity(forEmailAddress address: String) async throws -> UserIdentity? {
        try await userIdentities(for: [.emailAddress(address)]).values.first
    }

    /// The user with a telephone number; nil if no user who wants to be found has it.
    ///
    /// - Throws: `notAuthenticated` without an access token; `invalidArguments` for what is no
    ///   number with its country.
    public func userIdentity(forPhoneNumber number: String) async throws -> UserIdentity? {
        try await userIdentities(for: [.phoneNumber(number)]).values.first
    }

    /// The user of a record; nil if no user who wants to be found has it.
    ///
    /// The record is of type `Users`: ``userRecordID()`` returns it to its user, and records name
    /// it as their creator. Users have another record in each container. For the signed-in user,
    /// ``userProfile()`` returns more.
    ///
    /// - Throws: `notAuthenticated` without an access token.
    public func userIdentity(forUserRecordID userRecordID: Record.ID) async throws -> UserIdentity?
    {
        try await userIdentities(forUserRecordIDs: [userRecordID]).values.first
    }

    /// The users with these e-mail addresses, without users who don't want to be found.
    ///
    /// - Throws: The errors of ``userIdentity(forEmailAddress:)``, for all of them if one can't be
    ///   looked up.
    public func userIdentities(
        forEmailAddresses addresses: [String]
    ) async throws -> [String: UserIdentity] {
        let found = try await userIdentities(for: addresses.map { .emailAddress($0) })
        return found.reduce(into: [:]) { found, entry in
            if case .emailAddress(let address) = entry.key { found[address] = entry.value }
        }
    }

    /// The users with these telephone numbers, without users who don't want to be found.
    ///
    /// - Throws: The errors of ``userIdentity(forPhoneNumber:)``, for all of them if one can't be
    ///   looked up.
    public func userIdentities(
        forPhoneNumbers numbers: [String]
    ) async throws -> [String: UserIdentity] {
        let found = try await userIdentities(for: numbers.map { .phoneNumber($0) })
        return found.reduce(into: [:]) { found, entry in
            if case .phoneNumber(let number) = entry.key { found[number] = entry.value }
        }
    }

    /// The users of these records, without users who don't want to be found.
    ///
    /// - Throws: The errors of ``userIdentity(forUserRecordID:)``.
    public func userIdentities(
        forUserRecordIDs userRecordIDs: [Record.ID]
    ) async throws -> [Record.ID: UserIdentity] {
        let found = try await userIdentities(for: userRecordIDs.map { .userRecordID($0) })
        return found.reduce(into: [:]) { found, entry in
            if case .userRecordID(let id) = entry.key { found[id] = entry.value }
        }
    }

    private func userIdentities(
        for infos: [UserIdentity.LookupInfo]
    ) async throws -> [UserIdentity.LookupInfo: UserIdentity] {
        var found: [UserIdentity.LookupInfo: UserIdentity] = [:]
        for part in infos.parts(of: Container.handlesAtOnce) {
            // They are answered in this order.
            let asked = part.filter { $0.handle != nil } + part.filter { $0.handle == nil }
            let request = DiscoverRequest(
                handles: asked.compactMap(\.handle),
                users: asked.compactMap(\.userRecordName)
            )
            let answer = try await core.read(.accountsDiscover, request.encoded())
            let users = try decoding {
                try answer.flatMap { try DiscoverResponse(wire: $0).elements }
            }
            try Database.check(users.count, of: asked.count)
            for (info, user) in zip(asked, users) {
                if let identity = UserIdentity(user, by: info) { found[info] = identity }
            }
        }
        return found
    }

    /// Handles and user records that a node looks up in one call.
    static let handlesAtOnce = 100
}

extension ClientCore {
    /// - Parameter user: A name, of operators; empty: the caller's own.
    func profile(of user: Bytes) async throws -> WireProfile {
        let request = ProfileRequest(user).encoded()
        let answer = try await read(.accountsProfile, request)
        return try decoding { try WireProfile(wire: answer.first ?? []) }
    }
}
