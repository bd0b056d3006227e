// The account that is signed in: with `await`, and with handlers.

internal import Cumulus
internal import Foundation

extension CKContainer {
    /// Asks a node whether somebody is signed in.
    @discardableResult
    public func accountStatus() async throws -> CKAccountStatus {
        try await call { container in
            switch await container.accountStatus() {
            case .couldNotDetermine: .couldNotDetermine
            case .available: .available
            case .noAccount: .noAccount
            case .temporarilyUnavailable: .temporarilyUnavailable
            }
        }
    }

    /// The name of the signed-in user's record in this container.
    ///
    /// - Throws: `notAuthenticated` if no user is signed in.
    @discardableResult
    public func userRecordID() async throws -> CKRecord.ID {
        CKRecord.ID(try await call { try await $0.userRecordID() })
    }

    /// Asks a node whether somebody is signed in.
    @preconcurrency
    public func accountStatus(
        completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void
    ) {
        let tell: @Sendable (Result<CKAccountStatus, any Error>) -> Void = { result in
            switch result {
            case .success(let status): completionHandler(status, nil)
            case .failure(let error): completionHandler(.couldNotDetermine, error)
            }
        }
        CallSettings.start(settings, { try await self.accountStatus() }, tell)
    }

    /// Fetches the name of the signed-in user's record in this container.
    @preconcurrency
    public func fetchUserRecordID(
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        CallSettings.start(settings, { try await self.userRecordID() }, pair(completionHandler))
    }
}
