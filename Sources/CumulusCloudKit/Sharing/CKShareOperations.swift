// Reading and accepting the URL of a share, and finding participants, as operations.

internal import CumulusModel
public import Foundation

/// Fetches what URLs lead to.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    /// The URLs, as owners sent them.
    @_Guarded public var shareURLs: [URL]? = nil
    /// Whether the records that are shared come along.
    @_Guarded public var shouldFetchRootRecord = false
    /// The fields of these records to fetch; nil means all.
    @_Guarded public var rootRecordDesiredKeys: [CKRecord.FieldKey]? = nil
    /// Called once for each URL.
    @_Block
    public var perShareMetadataResultBlock: ((URL, Result<CKShare.Metadata, any Error>) -> Void)? =
        nil
    /// Called at the end.
    @_Block
    public var fetchShareMetadataResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `perShareMetadataResultBlock`.
    @_Block
    public var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? = nil
    /// The old form of `fetchShareMetadataResultBlock`.
    @_Block
    public var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? = nil

    @_Guarded private var results: [URL: Result<CKShare.Metadata, any Error>] = [:]

    /// An operation without inputs.
    public override init() {}

    /// Fetches what these URLs lead to.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func run() async throws {
        let (container, urls) = (usedContainer, shareURLs ?? [])
        let (withRoot, keys) = (shouldFetchRootRecord, rootRecordDesiredKeys)
        results = try await outcome(of: urls, tell) {
            try await container.shareMetadatas(for: urls, withRoot: withRoot, desiredKeys: keys)
        }
    }

    private func tell(_ url: URL, _ result: Result<CKShare.Metadata, any Error>) {
        perShareMetadataResultBlock?(url, result)
        switch result {
        case .success(let metadata): perShareMetadataBlock?(url, metadata, nil)
        case .failure(let error): perShareMetadataBlock?(url, nil, error)
        }
    }

    override func conclude(_ error: CKError?) {
        fetchShareMetadataResultBlock?(error.map { .failure($0) } ?? .success(()))
        fetchShareMetadataCompletionBlock?(error ?? CKError.partial(failures(results)))
    }
}

/// Joins shares: what they share is in the shared database from then on.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
    /// The shares.
    @_Guarded public var shareMetadatas: [CKShare.Metadata]? = nil
    /// Called once for each share.
    @_Block
    public var perShareResultBlock: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)? = nil
    /// Called at the end; a `partialFailure` has the errors of the shares that failed.
    @_Block
    public var acceptSharesResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `perShareResultBlock`.
    @_Block
    public var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? = nil
    /// The old form of `acceptSharesResultBlock`.
    @_Block
    public var acceptSharesCompletionBlock: (((any Error)?) -> Void)? = nil

    @_Guarded private var results: [CKShare.Metadata: Result<CKShare, any Error>] = [:]

    /// An operation without inputs.
    public override init() {}

    /// Joins these shares.
    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init()
        self.shareMetadatas = shareMetadatas
    }

    override func run() async throws {
        let (container, metadatas) = (usedContainer, shareMetadatas ?? [])
        results = try await outcome(of: metadatas, tell) {
            try await container.accept(metadatas)
        }
    }

    private func tell(_ metadata: CKShare.Metadata, _ result: Result<CKShare, any Error>) {
        perShareResultBlock?(metadata, result)
        switch result {
        case .success(let share): perShareCompletionBlock?(metadata, share, nil)
        case .failure(let error): perShareCompletionBlock?(metadata, nil, error)
        }
    }

    override func conclude(_ error: CKError?) {
        let error = error ?? CKError.partial(failures(results))
        acceptSharesResultBlock?(error.map { .failure($0) } ?? .success(()))
        acceptSharesCompletionBlock?(error)
    }
}

/// Finds people to add to a share.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    /// The operation looks up these users.
    @_Guarded public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]? = nil
    /// Called once for each look-up.
    @_Block
    public var perShareParticipantResultBlock:
        (
            (
                CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>
            ) -> Void
        )? = nil
    /// Called at the end.
    @_Block
    public var fetchShareParticipantsResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `perShareParticipantResultBlock`: called for each participant who is found.
    @_Block
    public var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? = nil
    /// The old form of `fetchShareParticipantsResultBlock`.
    @_Block
    public var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? = nil

    @_Guarded private var results:
        [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] = [:]

    /// An operation without inputs.
    public override init() {}

    /// Finds these people.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func run() async throws {
        let (container, infos) = (usedContainer, userIdentityLookupInfos ?? [])
        results = try await outcome(of: infos, tell) {
            try await container.shareParticipants(for: infos)
        }
    }

    private func tell(
        _ info: CKUserIdentity.LookupInfo,
        _ result: Result<CKShare.Participant, any Error>
    ) {
        perShareParticipantResultBlock?(info, result)
        if case .success(let found) = result { shareParticipantFetchedBlock?(found) }
    }

    override func conclude(_ error: CKError?) {
        fetchShareParticipantsResultBlock?(error.map { .failure($0) } ?? .success(()))
        fetchShareParticipantsCompletionBlock?(error ?? CKError.partial(failures(results)))
    }
}

/// Asks owners for access to their shares.
///
/// Fails with `serverRejectedRequest`: nodes take no requests for access. It is there so that
/// apps which use it compile.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    /// The URLs of the shares.
    @_Guarded public var shareURLs: [URL]? = nil
    /// Called once for each URL.
    @_Block
    public var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)? = nil
    /// Called at the end.
    @_Block
    public var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)? = nil

    /// An operation without inputs.
    public override init() {}

    /// Asks for access to these shares.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func run() async throws {
        for url in shareURLs ?? [] {
            perShareAccessRequestResultBlock?(url, .failure(CKError.noRequestsForAccess))
        }
        throw CKError.noRequestsForAccess
    }

    override func conclude(_ error: CKError?) {
        shareAccessRequestResultBlock?(error.map { .failure($0) } ?? .success(()))
    }
}

extension CKOperation {
    /// Makes a call for several items, and tells of each; a failure of the call is told of all.
    fileprivate func outcome<Item: Hashable & Sendable, Value: Sendable>(
        of items: [Item],
        _ tell: (Item, Result<Value, any Error>) -> Void,
        _ body: @escaping @Sendable () async throws -> [Item: Result<Value, any Error>]
    ) async throws -> [Item: Result<Value, any Error>] {
        var told: Set<Item> = []
        let each = items.filter { told.insert($0).inserted }
        let results: [Item: Result<Value, any Error>]
        do {
            results = try await CallSettings.run(settings, body)
        } catch {
            for item in each { tell(item, .failure(error)) }
            throw error
        }
        for item in each { if let result = results[item] { tell(item, result) } }
        return results
    }
}
