// The outcome of a call as a value: kept until what must follow in any case is done.
//
// Commands use it that close or draw something after a call, or report each item.

extension Result where Failure == any Error {
    /// Runs a body; what it returns or throws is the result.
    package init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

extension Result {
    /// The failure, if it is one.
    package var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
