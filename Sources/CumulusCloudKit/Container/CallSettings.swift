// How a call is made: with which patience and at which priority, and where its outcome goes.
//
// Used by containers, databases and operations.

internal import CumulusModel
internal import Foundation

struct CallSettings: Sendable {
    var qualityOfService = QualityOfService.default
    /// Seconds that a call may take; nil means as long as the client library gives it.
    var timeout: TimeInterval?

    /// Seconds that the client library gives a call.
    private static let standardTimeout: TimeInterval = 60

    /// Settings that an operation's configuration leaves at their defaults come from its group.
    init(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup? = nil) {
        let own = configuration ?? CKOperation.Configuration()
        let merged = own.completed(by: group?.defaultConfiguration)
        qualityOfService = merged.qualityOfService
        let seconds = min(merged.timeoutIntervalForRequest, merged.timeoutIntervalForResource)
        timeout = seconds < CallSettings.standardTimeout ? seconds : nil
    }

    /// The priority of the call's task.
    var priority: TaskPriority {
        switch qualityOfService {
        case .userInteractive, .userInitiated: .high
        case .utility: .low
        case .background: .background
        default: .medium
        }
    }

    /// Makes a call; its errors are `CKError`s.
    static func run<Value: Sendable>(
        _ settings: CallSettings?,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        do {
            guard let seconds = settings?.timeout else { return try await body() }
            return try await limited(to: seconds, body)
        } catch {
            throw CKError(any: error)
        }
    }

    private static func limited<Value: Sendable>(
        to seconds: TimeInterval,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: .seconds(max(0, seconds)))
                throw ServiceError(
                    .networkFailure,
                    .deadline,
                    "there was no answer within the \(seconds) seconds of the configuration"
                )
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }

    /// Makes a call in a task of its own, and hands its outcome over.
    static func start<Value: Sendable>(
        _ settings: CallSettings?,
        _ body: @escaping @Sendable () async throws -> Value,
        _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        Task(priority: settings?.priority) {
            do {
                handler(.success(try await body()))
            } catch {
                handler(.failure(error))
            }
        }
    }
}

/// A handler of a value and an error for a handler of a result.
func pair<Value>(
    _ handler: @escaping @Sendable (Value?, (any Error)?) -> Void
) -> @Sendable (Result<Value, any Error>) -> Void {
    { result in
        switch result {
        case .success(let value): handler(value, nil)
        case .failure(let error): handler(nil, error)
        }
    }
}
