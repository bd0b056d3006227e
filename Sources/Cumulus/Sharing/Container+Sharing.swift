// Reading and accepting the URL of a share, and finding participants.
//
// Method names follow CloudKit's `CKContainer`.

public import CumulusModel
public import CumulusSystem
import CumulusWire

extension Container {
    /// The share that a URL leads to.
    ///
    /// - Parameters:
    ///   - url: The ``Share/url`` that the user was given.
    ///   - fetchingRootRecord: Whether the root comes along.
    ///   - desiredKeys: The fields of the root to fetch; nil means all.
    /// - Throws: `unknownItem` if the share does not exist or was stopped; `permissionFailure` if
    ///   the caller is not invited, or by an e-mail address or telephone number that is not
    ///   verified as the caller's; `invalidArguments` for a text that is no URL of a share;
    ///   `notAuthenticated` without an access token, unless the share is open to all, whose root
    ///   then does not come along.
    public func shareMetadata(
        for url: URL,
        fetchingRootRecord: Bool = false,
        desiredKeys: [String]? = nil
    ) async throws -> Share.Metadata {
        let request = ShareMetadataRequest(
            url: Bytes(url.absoluteString.utf8),
            wantsRootRecord: fetchingRootRecord,
            keys: desiredKeys?.map { Bytes($0.utf8) }
        )
        let answer = try await core.read(.sharingMetadata, request.encoded())
        return try Share.Metadata(answer, of: url, in: self)
    }

    /// The shares that these URLs lead to; each has a result of its own.
    public func shareMetadatas(
        for urls: [URL]
    ) async throws -> [URL: Result<Share.Metadata, any Error>] {
        var found: [URL: Result<Share.Metadata, any Error>] = [:]
        for url in Set(urls) {
            do {
                found[url] = .success(try await shareMetadata(for: url))
            } catch let error as ServiceError {
                found[url] = .failure(error)
            }
        }
        return found
    }

    /// Joins a share: what it shares is in the shared database from now on.
    ///
    /// Doing it again changes nothing.
    ///
    /// - Throws: The errors of ``shareMetadata(for:fetchingRootRecord:desiredKeys:)``;
    ///   `invalidArguments` for the caller's own share; `participantAlreadyInvited` if the share
    ///   was opened for all while an invitation to the caller is pending; `tooManyParticipants` if
    ///   the share is full; `limitExceeded` if the caller is in too many zones of others.
    @discardableResult
    public func accept(_ metadata: Share.Metadata) async throws -> Share {
        try await accept(metadata.url).share
    }

    /// Joins the share that a URL leads to, as ``accept(_:)-(Share.Metadata)`` does.
    @discardableResult
    public func accept(_ url: URL) async throws -> Share.Metadata {
        let request = AcceptShareRequest(Bytes(url.absoluteString.utf8))
        // Accepting twice has the same effect as once, so a lost answer may be retried.
        let answer = try await core.read(.sharingAccept, request.encoded())
        return try Share.Metadata(answer, of: url, in: self)
    }

    // MARK: Participants

    /// A participant to add to a share, by an e-mail address.
    ///
    /// It is the same whether or not a user has the address; the user is named only if it wants to
    /// be found.
    ///
    /// - Throws: `notAuthenticated` without an access token; `invalidArguments` for what is no
    ///   address.
    public func shareParticipant(
        forEmailAddress address: String
    ) async throws -> Share.Participant {
        try await shareParticipant(for: .emailAddress(address))
    }

    /// A participant to add to a share, by a telephone number with its country.
    ///
    /// - Throws: The errors of ``shareParticipant(forEmailAddress:)``.
    public func shareParticipant(forPhoneNumber number: String) async throws -> Share.Participant {
        try await shareParticipant(for: .phoneNumber(number))
    }

    /// A user to add to a share.
    public func shareParticipant(
        forUserRecordID userRecordID: Record.ID
    ) async throws -> Share.Participant {
        Share.Participant(userRecordID: userRecordID)
    }

    /// People to add to a share, by their e-mail addresses.
    ///
    /// - Throws: The errors of ``shareParticipant(forEmailAddress:)``, for all of them if one can't
    ///   be looked up.
    public func shareParticipants(
        forEmailAddresses addresses: [String]
    ) async throws -> [String: Share.Participant] {
        let found = try await shareParticipants(for: addresses.map { .emailAddress($0) })
        return Dictionary(zip(addresses, found), uniquingKeysWith: { first, _ in first })
    }

    /// People to add to a share, by their telephone numbers.
    ///
    /// - Throws: The errors of ``shareParticipant(forEmailAddress:)``, for all of them if one can't
    ///   be looked up.
    public func shareParticipants(
        forPhoneNumbers numbers: [String]
    ) async throws -> [String: Share.Participant] {
        let found = try await shareParticipants(for: numbers.map { .phoneNumber($0) })
        return Dictionary(zip(numbers, found), uniquingKeysWith: { first, _ in first })
    }

    private func shareParticipant(
        for info: UserIdentity.LookupInfo
    ) async throws -> Share.Participant {
        guard let found = try await shareParticipants(for: [info]).first else {
            throw Database.missingResult
        }
        return found
    }

    private func shareParticipants(
        for infos: [UserIdentity.LookupInfo]
    ) async throws -> [Share.Participant] {
        var found: [Share.Participant] = []
        for part in infos.parts(of: Container.handlesAtOnce) {
            let request = LookUpParticipantsRequest(handles: part.compactMap(\.handle))
            let answer = try await core.read(.sharingLookUp, request.encoded())
            let participants = try decoding {
                try answer.flatMap { try LookUpParticipantsResponse(wire: $0).participants }
            }
            try Database.check(participants.count, of: part.count)
            found += participants.map(Share.Participant.init)
        }
        return found
    }
}
