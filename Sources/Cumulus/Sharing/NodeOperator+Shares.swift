// The shares of a user, as an operator lists and stops them.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    /// The shares in a user's private database that are in force, by zones and names.
    ///
    /// The shares come without their fields: an operator learns who may do what, but not what is
    /// shared.
    package func shares(
        of user: String,
        in container: String,
        _ environment: Environment
    ) async throws -> [Share] {
        try await list(
            .sharingList,
            message: ListSharesRequest(Bytes(user.utf8)).encoded(),
            container: container,
            environment
        ) { try ListSharesResponse(wire: $0).shares.compactMap(Share.init) }
    }

    /// Ends a user's share; returns false if there is no such share.
    ///
    /// - Parameter share: A share of the user's zone; its owner name does not count.
    package func stop(
        _ share: Record.ID,
        of user: String,
        in container: String,
        _ environment: Environment
    ) async throws -> Bool {
        let request = StopShareRequest(
            user: Bytes(user.utf8),
            zone: Bytes(share.zoneID.zoneName.utf8),
            share: Bytes(share.recordName.utf8)
        )
        return try await call(
            .sharingStop,
            message: request.encoded(),
            container: container,
            environment
        ) { try StopShareResponse(wire: $0).flag }
    }
}
