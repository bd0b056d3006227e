// Shares of others and participants, with handlers.
//
// A handler is called once, on a thread of the system.

public import Foundation

extension CKContainer {
    /// Fetches what a URL leads to.
    @preconcurrency
    public func fetchShareMetadata(
        with url: URL,
        completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        begin({ try await $0.shareMetadata(for: url) }, pair(completionHandler))
    }

    /// Fetches what these URLs lead to.
    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler:
            @escaping @Sendable (
                Result<[URL: Result<CKShare.Metadata, any Error>], any Error>
            ) -> Void
    ) {
        begin({ try await $0.shareMetadatas(for: urls) }, completionHandler)
    }

    /// Joins a share.
    @preconcurrency
    public func accept(
        _ metadata: CKShare.Metadata,
        completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        begin({ try await $0.accept(metadata) }, pair(completionHandler))
    }

    /// Joins these shares.
    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler:
            @escaping @Sendable (
                Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>
            ) -> Void
    ) {
        begin({ try await $0.accept(metadatas) }, completionHandler)
    }

    // MARK: - Participants

    /// Finds somebody to add to a share, by an e-mail address.
    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        begin(
            { try await $0.shareParticipant(forEmailAddress: emailAddress) },
            pair(completionHandler)
        )
    }

    /// Finds somebody to add to a share, by a telephone number with its country.
    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        begin(
            { try await $0.shareParticipant(forPhoneNumber: phoneNumber) },
            pair(completionHandler)
        )
    }

    /// Finds a user to add to a share.
    @preconcurrency
    public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        begin(
            { try await $0.shareParticipant(forUserRecordID: userRecordID) },
            pair(completionHandler)
        )
    }

    /// Finds people to add to a share, by their e-mail addresses.
    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emails: [String],
        completionHandler:
            @escaping @Sendable (
                Result<[String: Result<CKShare.Participant, any Error>], any Error>
            ) -> Void
    ) {
        begin(
            { try await $0.shareParticipants(forEmailAddresses: emails) },
            completionHandler
        )
    }

    /// Finds people to add to a share, by their telephone numbers.
    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler:
            @escaping @Sendable (
                Result<[String: Result<CKShare.Participant, any Error>], any Error>
            ) -> Void
    ) {
        begin(
            { try await $0.shareParticipants(forPhoneNumbers: phoneNumbers) },
            completionHandler
        )
    }

    /// Finds users to add to a share.
    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>
            ) -> Void
    ) {
        begin(
            { try await $0.shareParticipants(forUserRecordIDs: userRecordIDs) },
            completionHandler
        )
    }

    private func begin<Value: Sendable>(
        _ body: @escaping @Sendable (CKContainer) async throws -> Value,
        _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        CallSettings.start(settings, { try await body(self) }, handler)
    }
}
