// Finding other users, and whether the user wants to be found: with handlers.

extension CKContainer {
    /// Lets others find the user; no user is asked on this system.
    @preconcurrency
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions,
        completionHandler:
            @escaping @Sendable (
                ApplicationPermissionStatus, (any Error)?
            ) -> Void
    ) {
        CallSettings.start(
            settings,
            { try await self.requestApplicationPermission(applicationPermission) },
            CKContainer.status(completionHandler)
        )
    }

    /// Asks whether others find the user.
    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: ApplicationPermissions,
        completionHandler:
            @escaping @Sendable (
                ApplicationPermissionStatus, (any Error)?
            ) -> Void
    ) {
        CallSettings.start(
            settings,
            { try await self.applicationPermissionStatus(for: applicationPermission) },
            CKContainer.status(completionHandler)
        )
    }

    private static func status(
        _ handler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
    ) -> @Sendable (Result<ApplicationPermissionStatus, any Error>) -> Void {
        { result in
            switch result {
            case .success(let status): handler(status, nil)
            case .failure(let error): handler(.couldNotComplete, error)
            }
        }
    }

    /// Finds the user with an e-mail address.
    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover({ try await $0.userIdentity(forEmailAddress: email) }, completionHandler)
    }

    /// Finds the user with a telephone number.
    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover({ try await $0.userIdentity(forPhoneNumber: phoneNumber) }, completionHandler)
    }

    /// Finds the user of a record, who is the signed-in user or wants to be found.
    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(
            { try await $0.userIdentity(forUserRecordID: userRecordID) },
            completionHandler
        )
    }

    private func discover(
        _ body: @escaping @Sendable (CKContainer) async throws -> CKUserIdentity?,
        _ handler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        let tell: @Sendable (Result<CKUserIdentity?, any Error>) -> Void = { result in
            switch result {
            case .success(let identity): handler(identity, nil)
            case .failure(let error): handler(nil, error)
            }
        }
        CallSettings.start(settings, { try await body(self) }, tell)
    }

    /// Finds the users with these e-mail addresses.
    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler:
            @escaping @Sendable (
                Result<[String: CKUserIdentity], any Error>
            ) -> Void
    ) {
        CallSettings.start(
            settings,
            { try await self.userIdentities(forEmailAddresses: emails) },
            completionHandler
        )
    }

    /// Finds the users with these telephone numbers.
    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler:
            @escaping @Sendable (
                Result<[String: CKUserIdentity], any Error>
            ) -> Void
    ) {
        CallSettings.start(
            settings,
            { try await self.userIdentities(forPhoneNumbers: phoneNumbers) },
            completionHandler
        )
    }

    /// Finds the users of these records: the signed-in user, and users who want to be found.
    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecord.ID: CKUserIdentity], any Error>
            ) -> Void
    ) {
        CallSettings.start(
            settings,
            { try await self.userIdentities(forUserRecordIDs: userRecordIDs) },
            completionHandler
        )
    }

    /// Finds no one: there are no contacts on this system.
    @preconcurrency
    public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        CallSettings.start(
            settings,
            { try await self.allUserIdentitiesFromContacts() },
            pair(completionHandler)
        )
    }
}
