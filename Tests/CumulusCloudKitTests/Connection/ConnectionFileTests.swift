// A connection from variables and a file: which wins, and what is wrong with the others.

import Cumulus
import CumulusModel
import Foundation
import Testing

@testable import CumulusCloudKit

@Suite struct ConnectionFileTests {
    private func connection(
        _ variables: [String: String],
        files: [String: String] = [:]
    ) throws -> CumulusConnection {
        let source = ConnectionFile(variables: variables) { path in
            files[path].map { Data($0.utf8) }
        }
        return try source.connection()
    }

    private func problem(
        _ variables: [String: String],
        files: [String: String] = [:]
    ) -> String {
        let error = #expect(throws: ServiceError.self) { try connection(variables, files: files) }
        #expect(error?.code == .invalidArguments)
        return error?.message ?? ""
    }

    @Test func withoutSettingsItIsThisMachine() throws {
        let connection = try connection([:])
        #expect(connection.endpoints == ["127.0.0.1:7420"] && connection.accessToken == nil)
        #expect(connection.containerIdentifier == nil && connection.environment == .development)
        #expect(!connection.deviceID.isEmpty)
    }

    @Test func variablesWinOverTheFile() throws {
        let file = """
            {"endpoint": "a:1, b:2", "container": "iCloud.x", "token": "t", "tls": "never",
             "environment": "production", "device": "d", "encryption-key-file": "/k"}
            """
        let key = String(repeating: "0", count: 64)
        let connection = try connection(
            ["HOME": "/home/ada", "CUMULUS_TOKEN": "other", "CUMULUS_CONTAINER": ""],
            files: ["/home/ada/.config/cumulus/client.json": file, "/k": key + "\n"]
        )
        #expect(connection.endpoints == ["a:1", "b:2"] && connection.accessToken == "other")
        #expect(connection.containerIdentifier == "iCloud.x" && connection.tls == .never)
        #expect(connection.environment == .production && connection.deviceID == "d")
        #expect(connection.encryptionKeys == [key])
        let configuration = try connection.configuration()
        #expect(configuration.accessToken == "other" && configuration.environment == .production)
        #expect(configuration.encryptionKeys.count == 1)
    }

    @Test func theFileIsFoundInItsPlaces() throws {
        let file = #"{"container": "c"}"#
        let named = try connection(["CUMULUS_CLIENT_FILE": "/f"], files: ["/f": file])
        let beside = try connection(
            ["XDG_CONFIG_HOME": "/x", "HOME": "/h"],
            files: ["/x/cumulus/client.json": file]
        )
        #expect(named.containerIdentifier == "c" && beside.containerIdentifier == "c")
    }

    @Test func mistakesAreExplained() {
        #expect(problem(["CUMULUS_CLIENT_FILE": "/f"]).contains("there is no file /f"))
        let variables = ["CUMULUS_CLIENT_FILE": "/f"]
        #expect(problem(variables, files: ["/f": "[]"]).contains("JSON object of texts"))
        #expect(problem(variables, files: ["/f": #"{"tokn": "t"}"#]).contains("'tokn'"))
        #expect(problem(["CUMULUS_TLS": "perhaps"]).contains("'perhaps'"))
        #expect(problem(["CUMULUS_KEY": "/k"]).contains("CUMULUS_KEY_ID"))
        #expect(
            problem(["CUMULUS_KEY": "/k", "CUMULUS_KEY_ID": "1"]).contains("there is no file /k")
        )
    }

    @Test func whatOnlyTheClientCanJudgeIsExplainedThen() {
        var connection = CumulusConnection(endpoints: ["a b"])
        #expect(throws: ServiceError.self) { try connection.configuration() }
        connection = CumulusConnection()
        connection.encryptionKeys = ["short"]
        #expect(throws: ServiceError.self) { try connection.configuration() }
        let nameless = ContainerClient(nil, CumulusConnection())
        let error = #expect(throws: ServiceError.self) { try nameless.container() }
        #expect(error?.code == .missingEntitlement)
    }
}
