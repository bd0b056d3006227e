// Finding other users, as operations.

internal import Foundation

/// Finds users by their addresses, numbers or records.
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    /// The addresses and records to look up.
    @_Guarded public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] = []
    /// Called for each user who is found.
    @_Block
    public var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)? =
        nil
    /// Called at the end.
    @_Block
    public var discoverUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `discoverUserIdentitiesResultBlock`.
    @_Block
    public var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? = nil

    /// An operation without inputs.
    public override init() {}

    /// Finds these users.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func run() async throws {
        let (container, infos) = (usedContainer, userIdentityLookupInfos)
        let found = try await CallSettings.run(settings) {
            try await container.userIdentities(for: infos)
        }
        for identity in found {
            guard let info = identity.lookupInfo else { continue }
            userIdentityDiscoveredBlock?(identity, info)
        }
    }

    override func conclude(_ error: CKError?) {
        discoverUserIdentitiesResultBlock?(error.map { .failure($0) } ?? .success(()))
        discoverUserIdentitiesCompletionBlock?(error)
    }
}

/// Finds the users among the contacts: none, since there are no contacts on this system.
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    /// Never called.
    @_Block
    public var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)? = nil
    /// Called at the end.
    @_Block
    public var discoverAllUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `discoverAllUserIdentitiesResultBlock`.
    @_Block
    public var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? = nil

    /// Finds the users among the contacts.
    public override init() {}

    override func conclude(_ error: CKError?) {
        discoverAllUserIdentitiesResultBlock?(error.map { .failure($0) } ?? .success(()))
        discoverAllUserIdentitiesCompletionBlock?(error)
    }
}
