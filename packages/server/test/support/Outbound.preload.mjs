/** Writes a line for every connection that a process begins, and for every datagram and name look-up. */
import dgram from "node:dgram"
import dns from "node:dns"
import net from "node:net"

const say = (what) => process.stderr.write(`outbound ${what}\n`)

const connect = net.Socket.prototype.connect
net.Socket.prototype.connect = function (...args) {
  const [first] = Array.isArray(args[0]) ? args[0] : args
  say(typeof first === "object" ? `${first.host ?? first.path}:${first.port}` : String(first))
  return connect.apply(this, args)
}

const send = dgram.Socket.prototype.send
dgram.Socket.prototype.send = function (...args) {
  say("datagram")
  return send.apply(this, args)
}

const lookup = dns.lookup
dns.lookup = function (name, ...args) {
  if (net.isIP(name) === 0 && name !== "localhost") say(`name ${name}`)
  return lookup.call(this, name, ...args)
}
