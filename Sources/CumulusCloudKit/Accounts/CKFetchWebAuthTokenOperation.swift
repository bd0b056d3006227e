// The operation for a token of web services, which Cumulus does not issue.

internal import CumulusModel
internal import Foundation

/// Fetches a token with which CloudKit's web services act as the user.
///
/// Fails with `serverRejectedRequest`: nodes issue no such tokens. It is there so that apps
/// which use it compile.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The app's token for web services.
    @_Guarded public var apiToken: String? = nil
    /// Called at the end, with the user's token.
    @_Block
    public var fetchWebAuthTokenResultBlock: ((Result<String, any Error>) -> Void)? = nil
    /// The old form of `fetchWebAuthTokenResultBlock`.
    @_Block
    public var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)? = nil

    /// An operation without inputs.
    public override init() {}

    /// Fetches a token for the app with that token.
    public convenience init(apiToken: String) {
        self.init()
        self.apiToken = apiToken
    }

    override func run() async throws {
        throw ServiceError(
            .serverRejectedRequest,
            "nodes issue no tokens for web services; let the web app sign the user in by itself"
        )
    }

    override func conclude(_ error: CKError?) {
        guard let error else { return }
        fetchWebAuthTokenResultBlock?(.failure(error))
        fetchWebAuthTokenCompletionBlock?(nil, error)
    }
}
