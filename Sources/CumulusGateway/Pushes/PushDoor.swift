// The seam to the node for couriers of pushes: which addresses there are, how far each was told,
// and the calls by which a courier follows a user's feed.
//
// `NodeDoor` is the door of a node in this process. Tests may put another one in its place.
//
// Folder: the couriers that wake devices. Read `PushRunner` with `PushDuty`, then `PushCourier`
// with `PushProgress`, and `PushSender` with `PushClient`.

package import CumulusModel
package import CumulusNode

package protocol PushDoor: Sendable {
    /// Milliseconds since 1970 UTC.
    var now: Int64 { get }
    /// A clock that never goes back, to measure with.
    func nanoseconds() -> UInt64
    /// Waits so many milliseconds.
    func sleep(_ milliseconds: Int64) async throws
    /// Makes a random number.
    func random() -> UInt64
    /// Lets a caller in.
    func enter(_ entrance: LocalEntrance) async throws(ServiceError) -> any WebCalls
    /// The addresses of all users of all scopes.
    ///
    /// - Parameter known: The result of an earlier call.
    func pushAddresses(after known: PushAddresses) async throws(ServiceError) -> PushAddresses
    /// Whether an address is still what it was, and its session lasts.
    func isPushed(_ target: PushAddresses.Target) async throws(ServiceError) -> Bool
    /// Ends addresses, unless they were registered anew meanwhile.
    func end(_ targets: [PushAddresses.Target]) async throws
    /// The token of a user's feed behind everything that a device was told.
    func feedAfterMarks(of target: PushAddresses.Target) async throws(ServiceError) -> Bytes
    /// The other members of the cluster.
    func pushMembers() async throws(ServiceError) -> PushMembers
}

extension NodeDoor: PushDoor {
    package func pushAddresses(
        after known: PushAddresses
    ) async throws(ServiceError) -> PushAddresses {
        try await node.pushAddresses(after: known)
    }

    package func isPushed(
        _ target: PushAddresses.Target
    ) async throws(ServiceError) -> Bool {
        try await node.isPushed(target)
    }

    package func end(_ targets: [PushAddresses.Target]) async throws {
        try await node.end(targets)
    }

    package func feedAfterMarks(
        of target: PushAddresses.Target
    ) async throws(ServiceError) -> Bytes {
        try await node.feedAfterMarks(of: target)
    }

    package func pushMembers() async throws(ServiceError) -> PushMembers {
        try await node.pushMembers()
    }
}
