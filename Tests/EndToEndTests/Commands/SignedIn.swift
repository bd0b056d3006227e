// A client of a node that runs as a process, for a user who is made on the way.

import Cumulus
import CumulusTesting

extension NodeProcess {
    static let container = "iCloud.dev.cumulus"

    /// A new access token of a user that the node may know already.
    func makeToken(of user: String = "ada") async throws -> String {
        var configuration = Container.Configuration(endpoints: [try endpoint])
        configuration.tls = .never
        let admin = NodeOperator(configuration, token: try operatorToken)
        _ = try await admin.addUser(user, in: nil)
        let token = try await admin.addToken(forUser: user)
        await admin.close()
        return token
    }

    /// A signed-in client.
    ///
    /// - Parameter token: nil: the user gets a new one.
    func signIn(
        as user: String = "ada",
        token: String? = nil,
        timeout: Duration = .seconds(60),
        connections: Int = 4
    ) async throws -> Container {
        var configuration = Container.Configuration(endpoints: [try endpoint])
        configuration.accessToken =
            if let token { token } else { try await makeToken(of: user) }
        configuration.timeout = timeout
        configuration.connections = connections
        return Container(identifier: NodeProcess.container, configuration: configuration)
    }
}
