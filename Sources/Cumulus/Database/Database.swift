// A database of a container, as clients use it. The calls are in one file per noun.
//
// Folder: what an app asks of a database, a file per noun. Read `Database`, then `Database+Records`
// and `Database+Queries`.

public import CumulusModel
import CumulusWire

/// The public, private or shared database of a container.
///
/// Method names follow CloudKit's `CKDatabase`. Errors are `ServiceError`s; per-item results carry
/// the errors of items.
public struct Database: Sendable {
    /// The database's scope in the container.
    public let databaseScope: DatabaseScope
    let core: ClientCore

    init(_ scope: DatabaseScope, _ core: ClientCore) {
        databaseScope = scope
        self.core = core
    }

    /// Why no node can be reached that takes calls; nil while a connection to one is open.
    ///
    /// It asks nobody, for programs that say what they wait for.
    package var connectionProblem: ServiceError? { core.connectionProblem }
}

/// The messages of an answer, decoded; what can't be read is the server's fault.
func decoding<Value>(_ body: () throws -> Value) throws -> Value {
    do {
        return try body()
    } catch let error as MalformedMessage {
        throw ServiceError(.internalError, "the server's answer can't be read: \(error.message)")
    }
}
