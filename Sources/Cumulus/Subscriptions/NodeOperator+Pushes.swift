// The addresses at which a user's devices are woken, as an operator lists and ends them.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    /// The addresses of a user in a container's environment, oldest first.
    package func pushAddresses(
        of user: String,
        in container: String,
        _ environment: Environment
    ) async throws -> [RegisteredPush] {
        try await list(
            .pushesList,
            message: ListPushesRequest(Bytes(user.utf8)).encoded(),
            container: container,
            environment
        ) { try RegisteredPush.list([$0]) }
    }

    /// Ends an address of a user, or all; returns how many there were.
    ///
    /// - Parameter id: nil means all of the user in the container's environment.
    package func endPushes(
        _ id: RegisteredPush.ID?,
        of user: String,
        in container: String,
        _ environment: Environment
    ) async throws -> Int {
        let request = EndPushesRequest(
            id: try id.map { try RegisteredPush.bytes($0) } ?? [],
            user: Bytes(user.utf8)
        )
        return try await call(
            .pushesEnd,
            message: request.encoded(),
            container: container,
            environment
        ) { Int(try EndPushesResponse(wire: $0).count) }
    }
}
