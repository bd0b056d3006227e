// The seam to the node: how a request enters it, and the calls that the caller may then make.
//
// `NodeDoor` is the door of a node in this process; its calls go to the handlers of `MethodTable`,
// like a client's calls over TCP. Tests may put another one in its place.
//
// Folder: how requests reach the node. Read `WebDoor`, then `NodeDoor`.

package import CumulusAssets
package import CumulusModel
package import CumulusNode
package import CumulusWire

package protocol WebDoor: Sendable {
    var clusterID: Bytes { get }
    /// Milliseconds since 1970 UTC.
    var now: Int64 { get }
    /// A clock that never goes back, to measure with.
    func nanoseconds() -> UInt64
    /// Waits so many milliseconds.
    func sleep(_ milliseconds: Int64) async throws
    /// Makes a random number.
    func random() -> UInt64
    /// The web app whose API token has this SHA-256; nil if no app has such a token.
    func apiToken(_ digest: Bytes) async throws(ServiceError) -> WebAPIToken?
    /// The logo of a web app: PNG or JPEG; empty if it has none.
    func logo(of app: WebAPIToken) async -> Bytes
    /// Whether strangers may register as users.
    var takesRegistrations: Bool { get }
    /// Lets a caller in.
    func enter(_ entrance: LocalEntrance) async throws(ServiceError) -> any WebCalls
    /// Uses up a link to the console; returns the SHA-256 of the operator token, or nil if the link
    /// is wrong, was used, or is too old.
    func redeem(_ link: ConsoleLink, from address: Bytes) -> Bytes?
    /// Seals what callers carry; every node of the cluster opens it.
    func seal(_ content: Bytes) -> Bytes
    /// nil if no node of this cluster sealed it.
    func open(_ sealed: Bytes) -> Bytes?
    /// Reads the list of an asset from a peer that has it.
    ///
    /// - Parameter milliseconds: How long peers are asked.
    func peerList(
        of address: PeerAssetAddress,
        within milliseconds: Int64
    ) async throws -> ChunkList
    /// Reads chunks of an asset from a peer that has them, and hands them over as they come.
    ///
    /// An error that `take` throws ends it.
    ///
    /// - Parameters:
    ///   - indexes: Into the list; not empty.
    ///   - milliseconds: How long peers are asked.
    func readPeerChunks(
        _ indexes: [Int],
        of address: PeerAssetAddress,
        within milliseconds: Int64,
        _ take: ([Chunk]) async throws -> Void
    ) async throws
    /// The users whose subscriptions name webhooks, by scope.
    ///
    /// - Parameter known: The result of an earlier call.
    func webhookSubscribers(
        after known: [ScopeID: WebhookScope]
    ) async throws(ServiceError) -> [ScopeID: WebhookScope]
    /// The token of a user's feed behind everything that a webhook was told; empty: nothing was.
    func feedAfterMarks(of subscriber: WebhookSubscriber) async throws(ServiceError) -> Bytes
    /// The subscriptions that a webhook is told of on behalf of a user.
    ///
    /// Throws while an operator keeps the user out.
    func subscriptions(
        of subscriber: WebhookSubscriber
    ) async throws(ServiceError) -> Set<SubscriptionName>
}

extension WebDoor {
    /// The same with an error for callers of web services.
    func app(of digest: Bytes) async throws(WebError) -> WebAPIToken? {
        do throws(ServiceError) {
            return try await apiToken(digest)
        } catch {
            throw WebError(error)
        }
    }
}

/// The calls of one caller; its receiver closes it.
package protocol WebCalls: Sendable {
    /// The caller's user record name; empty: no user is signed in.
    var user: String { get }
    /// A causal token of what the caller has seen by now; nil as long as nothing was answered.
    var reached: Bytes? { get }
    /// Reads records by their ids; each has a result.
    func fetch(_ request: FetchRecordsRequest) async throws(ServiceError) -> [RecordResult]
    /// Reads a page of a query.
    func query(_ request: QueryRecordsRequest) async throws(ServiceError) -> FoundRecords
    /// Saves and deletes records under a request id of its own.
    ///
    /// - Parameters:
    ///   - message: A `ModifyRecordsRequest`.
    ///   - overReadable: Whether it saves over what is there, whatever its tag, as far as the
    ///     caller may read it.
    func modify(
        _ message: Bytes,
        overReadable: Bool
    ) async throws(ServiceError) -> ModifiedRecords
    /// Makes a call that changes nothing; returns the messages of its answer.
    func read(_ method: Method, _ message: Bytes) async throws(ServiceError) -> [Bytes]
    /// Makes a change under a request id of its own.
    func change(_ method: Method, _ message: Bytes) async throws(ServiceError) -> [Bytes]
    /// Makes a call that sends many messages behind its first one, as the node has room for them.
    func upload(
        _ method: Method,
        _ message: Bytes,
        _ messages: [Bytes]
    ) async throws(ServiceError) -> [Bytes]
    /// Makes a call whose answer is taken message by message, as it comes.
    func follow(_ method: Method, _ message: Bytes) async -> LocalStream
    /// The fields of record types; types that the schema does not have are left out.
    func columns(
        of types: [String]
    ) async throws(ServiceError) -> [String: [String: FieldType]]
    /// Ends the caller's calls; in the task that made them, and where no lock is held.
    func close()
}
