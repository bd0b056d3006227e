// An app registers with Apple's push service by its container.

import Cumulus
import CumulusCloudKit
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct PushRegistrationTests {
    @Test func anAppRegistersItsDeviceToken() async throws {
        let offer = PushOffer(service: .apns, topics: ["com.example.notes"])
        let token = Data(repeating: 0xAB, count: 32)
        try await Cloud.run(offers: [offer]) { cloud in
            try await cloud.asUser("ada") { container in
                for _ in 0..<2 {
                    try await container.registerForRemoteNotifications(
                        deviceToken: token,
                        topic: "com.example.notes",
                        isSandbox: true
                    )
                }
                let refused = await failure {
                    try await container.registerForRemoteNotifications(
                        deviceToken: token,
                        topic: "com.example.other",
                        isSandbox: true
                    )
                }
                #expect(refused?.code == .invalidArguments)
                let admin = cloud.server.nodeOperator()
                let listed = try await admin.pushAddresses(
                    of: "ada",
                    in: TestServer.container,
                    .development
                )
                await admin.close()
                #expect(listed.map(\.topic) == ["com.example.notes"])
                #expect(listed.first?.isSandbox == true && listed.first?.service == .apns)
                #expect(listed.first?.deviceID == "phone")
            }
        }
    }

    @Test func onlyUsersRegister() async throws {
        try await Cloud.run(offers: [PushOffer(service: .apns, topics: ["t"])]) { cloud in
            try await cloud.with(cloud.connection(nil)) { container in
                let refused = await failure {
                    try await container.registerForRemoteNotifications(
                        deviceToken: Data(repeating: 1, count: 32),
                        topic: "t",
                        isSandbox: false
                    )
                }
                #expect(refused?.code == .notAuthenticated)
            }
        }
    }
}
