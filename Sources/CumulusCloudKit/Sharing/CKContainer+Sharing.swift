// Reading and accepting the URL of a share, and finding participants, with `await`.
//
// Each item of a call has a result of its own; what concerns the whole call, such as a node that
// can't be reached, is thrown. Used by the forms with handlers and by the operations too.

internal import Cumulus
internal import CumulusModel
public import Foundation

extension CKContainer {
    /// The share that a URL leads to.
    ///
    /// - Throws: `unknownItem` if the share does not exist or was stopped; `permissionFailure`
    ///   if the user is not invited, or by an address that is not verified as its own.
    @discardableResult
    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try await CKDatabase.only(shareMetadatas(for: [url])[url])
    }

    /// The shares that these URLs lead to.
    public func shareMetadatas(
        for urls: [URL]
    ) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try await shareMetadatas(for: urls, withRoot: false, desiredKeys: nil)
    }

    /// - Parameters:
    ///   - withRoot: Whether roots come along.
    ///   - desiredKeys: The fields of roots to fetch; nil means all.
    func shareMetadatas(
        for urls: [URL],
        withRoot: Bool,
        desiredKeys: [CKRecord.FieldKey]?
    ) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try await each(urls) { container, url in
            let found = try await container.shareMetadata(
                for: url,
                fetchingRootRecord: withRoot,
                desiredKeys: desiredKeys
            )
            return CKShare.Metadata(found)
        }
    }

    /// Joins a share: what it shares is in the shared database from now on.
    ///
    /// Doing it again changes nothing.
    ///
    /// - Throws: The errors of `shareMetadata(for:)`; `invalidArguments` for the user's own share;
    ///   `participantAlreadyInvited`; `tooManyParticipants`.
    @discardableResult
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        try await CKDatabase.only(accept([metadata])[metadata])
    }

    /// Joins these shares.
    @discardableResult
    public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        try await each(metadatas) { container, metadata in
            CKShare(try await container.accept(metadata.url).share)
        }
    }

    // MARK: - Participants

    /// Somebody to add to a share, by an e-mail address.
    ///
    /// It is the same whether or not a user has the address.
    @discardableResult
    public func shareParticipant(
        forEmailAddress email: String
    ) async throws -> CKShare.Participant {
        try await CKDatabase.only(shareParticipants(forEmailAddresses: [email])[email])
    }

    /// Somebody to add to a share, by a telephone number with its country.
    @discardableResult
    public func shareParticipant(
        forPhoneNumber phoneNumber: String
    ) async throws -> CKShare.Participant {
        try await CKDatabase.only(
            shareParticipants(forPhoneNumbers: [phoneNumber])[phoneNumber]
        )
    }

    /// A user to add to a share.
    @discardableResult
    public func shareParticipant(
        forUserRecordID userRecordID: CKRecord.ID
    ) async throws -> CKShare.Participant {
        try await CKDatabase.only(
            shareParticipants(forUserRecordIDs: [userRecordID])[userRecordID]
        )
    }

    /// People to add to a share, by their e-mail addresses.
    public func shareParticipants(
        forEmailAddresses emails: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await lookUp(emails) { try await $0.shareParticipants(forEmailAddresses: $1) }
    }

    /// People to add to a share, by their telephone numbers.
    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await lookUp(phoneNumbers) { try await $0.shareParticipants(forPhoneNumbers: $1) }
    }

    /// Users to add to a share.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        try await each(userRecordIDs) { container, id in
            CKShare.Participant(
                try await container.shareParticipant(forUserRecordID: id.model)
            )
        }
    }

    /// People to add to a share, by what each is looked up by.
    public func shareParticipants(
        for infos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
        let emails = try await shareParticipants(
            forEmailAddresses: infos.compactMap(\.emailAddress)
        )
        let numbers = try await shareParticipants(
            forPhoneNumbers: infos.compactMap(\.phoneNumber)
        )
        let users = try await shareParticipants(
            forUserRecordIDs: infos.compactMap(\.userRecordID)
        )
        return infos.reduce(into: [:]) { found, info in
            found[info] =
                info.emailAddress.flatMap { emails[$0] }
                ?? info.phoneNumber.flatMap { numbers[$0] }
                ?? info.userRecordID.flatMap { users[$0] }
        }
    }

    /// Asks owners for access to their shares: fails for each URL with `serverRejectedRequest`.
    ///
    /// Nodes take no requests for access; ask the owner to invite the user.
    public func requestShareAccess(
        for urls: [URL]
    ) async throws -> [URL: Result<Void, any Error>] {
        urls.reduce(into: [:]) { $0[$1] = .failure(CKError.noRequestsForAccess) }
    }

    /// Looks up all together, and each alone if one of them is no address.
    private func lookUp(
        _ texts: [String],
        _ body:
            @escaping @Sendable (
                Container, [String]
            ) async throws -> [String: Share.Participant]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        guard texts.count > 1 else {
            return try await each(texts) { container, text in
                guard let found = try await body(container, [text])[text] else {
                    throw ServiceError(.internalError, "the server's answer lacks a result")
                }
                return CKShare.Participant(found)
            }
        }
        do {
            return try await call { try await body($0, texts) }
                .mapValues { .success(CKShare.Participant($0)) }
        } catch CKError.invalidArguments {
            var results: [String: Result<CKShare.Participant, any Error>] = [:]
            for text in texts { results[text] = try await lookUp([text], body)[text] }
            return results
        }
    }

    /// Makes a call for each of these; an error that concerns all of them ends it.
    private func each<Key: Hashable & Sendable, Value: Sendable>(
        _ keys: [Key],
        _ body: @escaping @Sendable (Container, Key) async throws -> Value
    ) async throws -> [Key: Result<Value, any Error>] {
        var results: [Key: Result<Value, any Error>] = [:]
        for key in keys where results[key] == nil {
            do {
                results[key] = .success(try await call { try await body($0, key) })
            } catch let error as CKError where error.concernsOneShare {
                results[key] = .failure(error)
            }
        }
        return results
    }
}

extension CKError {
    /// The answer to a request for access.
    static var noRequestsForAccess: CKError {
        CKError(
            ServiceError(
                .serverRejectedRequest,
                "nodes take no requests for access; ask the owner to invite the user"
            )
        )
    }

    /// Whether a call for another share may succeed all the same.
    fileprivate var concernsOneShare: Bool {
        switch code {
        case .unknownItem, .permissionFailure, .invalidArguments, .alreadyShared,
            .participantAlreadyInvited, .tooManyParticipants, .limitExceeded, .quotaExceeded,
            .zoneNotFound, .zoneBusy:
            true
        default: false
        }
    }
}
