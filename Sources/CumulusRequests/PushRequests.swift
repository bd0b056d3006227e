// Requests about the addresses at which devices are woken.
//
// `pushes.proto`.

import CCumulusWire
package import CumulusModel
package import CumulusWire

extension RegisterPushRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__register_push_request__unpack)
        let raw = message.raw
        self.init()
        service = UInt32(raw.service.rawValue)
        token = raw.token.swiftBytes
        topic = raw.topic.swiftBytes
        isSandbox = raw.is_sandbox != 0
        publicKey = raw.public_key.swiftBytes
        secret = raw.secret.swiftBytes
        label = raw.label.swiftText
    }
}

extension EndPushesRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__end_pushes_request__unpack)
        self.init(id: message.raw.id.swiftBytes, user: message.raw.user.swiftBytes)
    }
}
