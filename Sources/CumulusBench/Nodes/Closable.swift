// Values that are closed when their use has ended, also by an error: loaded nodes, containers,
// operators.

import Cumulus
import CumulusTerminal

protocol Closable {
    func close() async
}

extension Closable {
    /// Runs a body with it, and closes it.
    func use<Value>(_ body: (Self) async throws -> Value) async throws -> Value {
        let value = await Result { try await body(self) }
        await close()
        return try value.get()
    }
}

extension Container: Closable {}
extension NodeOperator: Closable {}
