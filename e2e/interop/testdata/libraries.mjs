// Answers questions about webhooks with the senders' own libraries: a line of
// JSON in, a line of JSON out, in the same order.
//
// In:  {"library", "op": "verify"|"sign", "secret", "headers", "body" (base64),
//       "url", "id", "time" (Unix seconds)}
// Out: {"ok", "error", "headers"}
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(process.env.NODE_PATH + '/libraries.js');
const load = (name) => loaded[name] ??= require(name);
const loaded = {};

function must(right) {
  if (right !== true) throw new Error('the library says no');
}

// form returns the fields of a form as a framework's parser would.
const form = (q) => Object.fromEntries(new URLSearchParams(q.text));
const isForm = (q) => (q.headers['content-type'] ?? '').startsWith('application/x-www-form-urlencoded');

const verify = {
  stripe: (q) => new (load('stripe'))('sk_test_x').webhooks.constructEvent(q.raw, q.headers['stripe-signature'], q.secret),
  svix: (q) => new (load('svix').Webhook)(q.secret).verify(q.raw, q.headers),
  standardwebhooks: (q) => new (load('standardwebhooks').Webhook)(q.secret).verify(q.raw, q.headers),
  openai: (q) => new (load('openai').OpenAI)({ apiKey: 'x' }).webhooks.unwrap(q.text, q.headers, q.secret),
  resend: (q) => new (load('resend').Resend)('re_x').webhooks.verify({
    payload: q.text, webhookSecret: q.secret,
    headers: { id: q.headers['svix-id'], timestamp: q.headers['svix-timestamp'], signature: q.headers['svix-signature'] },
  }),
  clerk: (q) => load('@clerk/backend/webhooks').verifyWebhook(
    new Request(q.url, { method: 'POST', headers: q.headers, body: q.raw }), { signingSecret: q.secret }),
  slack: (q) => load('@slack/bolt').verifySlackRequest({
    signingSecret: q.secret, body: q.text,
    headers: {
      'x-slack-signature': q.headers['x-slack-signature'],
      'x-slack-request-timestamp': Number(q.headers['x-slack-request-timestamp']),
    },
  }),
  hubspot: (q) => must(load('@hubspot/api-client').Signature.isValid({
    method: 'POST', url: q.url, clientSecret: q.secret, requestBody: q.text, signatureVersion: 'v3',
    signature: q.headers['x-hubspot-signature-v3'], timestamp: Number(q.headers['x-hubspot-request-timestamp']),
  })),
  paddle: async (q) => must(await new (load('@paddle/paddle-node-sdk').Paddle)('pdl_x')
    .webhooks.isSignatureValid(q.text, q.secret, q.headers['paddle-signature'])),
  octokit: async (q) => must(await new (await octokit()).Webhooks({ secret: q.secret })
    .verify(q.text, q.headers['x-hub-signature-256'])),
  twilio: (q) => must(isForm(q)
    ? load('twilio').validateRequest(q.secret, q.headers['x-twilio-signature'], q.url, form(q))
    : load('twilio').validateRequestWithBody(q.secret, q.headers['x-twilio-signature'], q.url, q.text)),
  shopify: async (q) => {
    load('@shopify/shopify-api/adapters/node');
    const { shopifyApi, LogSeverity } = load('@shopify/shopify-api');
    const shopify = shopifyApi({
      apiKey: 'x', apiSecretKey: q.secret, apiVersion: '2025-07', hostName: 'weir.example', isEmbeddedApp: false,
      logger: { level: LogSeverity.Error, log: () => {} },
    });
    const { valid } = await shopify.webhooks.validate({ rawBody: q.text, rawRequest: { headers: q.headers, method: 'POST', url: q.url } });
    must(valid);
  },
  square: async (q) => must(await load('square').WebhooksHelper.verifySignature({
    requestBody: q.text, signatureHeader: q.headers['x-square-hmacsha256-signature'], signatureKey: q.secret, notificationUrl: q.url,
  })),
  discord: async (q) => must(await load('discord-interactions').verifyKey(
    q.raw, q.headers['x-signature-ed25519'], q.headers['x-signature-timestamp'], q.secret)),
  linear: (q) => must(new (load('@linear/sdk/webhooks').LinearWebhookClient)(q.secret)
    .verify(q.raw, q.headers['linear-signature'], JSON.parse(q.text).webhookTimestamp)),
  razorpay: (q) => must(load('razorpay').validateWebhookSignature(q.text, q.headers['x-razorpay-signature'], q.secret)),
  sendgrid: (q) => {
    const webhook = new (load('@sendgrid/eventwebhook').EventWebhook)();
    must(webhook.verifySignature(webhook.convertPublicKeyToECDSA(q.secret), q.text,
      q.headers['x-twilio-email-event-webhook-signature'], q.headers['x-twilio-email-event-webhook-timestamp']));
  },
};

const standard = (family) => (q) => {
  const { Webhook } = load(family === 'svix' ? 'svix' : 'standardwebhooks');
  return {
    [`${family}-id`]: q.id, [`${family}-timestamp`]: String(q.time),
    [`${family}-signature`]: new Webhook(q.secret).sign(q.id, new Date(q.time * 1000), q.text),
  };
};

const sign = {
  stripe: (q) => ({
    'stripe-signature': new (load('stripe'))('sk_test_x').webhooks.generateTestHeaderString({
      payload: q.text, secret: q.secret, timestamp: q.time,
    }),
  }),
  svix: standard('svix'),
  standardwebhooks: standard('webhook'),
  hubspot: (q) => ({
    'x-hubspot-request-timestamp': String(q.time * 1000),
    'x-hubspot-signature-v3': load('@hubspot/api-client').Signature.getSignature('POST', 'v3', {
      url: q.url, clientSecret: q.secret, requestBody: q.text, timestamp: q.time * 1000,
    }),
  }),
  octokit: async (q) => ({
    'x-github-delivery': q.id, 'x-hub-signature-256': await new (await octokit()).Webhooks({ secret: q.secret }).sign(q.text),
  }),
  twilio: (q) => ({
    'i-twilio-idempotency-token': q.id,
    'x-twilio-signature': load('twilio').getExpectedTwilioSignature(q.secret, q.url, form(q)),
  }),
};

// octokit is a module of ECMAScript, which require cannot load.
const octokit = () => import(process.env.NODE_PATH + '/@octokit/webhooks/dist-bundle/index.js');

async function answer(line) {
  try {
    const q = JSON.parse(line);
    q.raw = Buffer.from(q.body ?? '', 'base64');
    q.text = q.raw.toString();
    const does = { verify, sign }[q.op][q.library];
    if (!does) return { error: `nobody here can ${q.op} for ${q.library}` };
    const headers = await does(q);
    return { ok: true, headers: q.op === 'sign' ? headers : undefined };
  } catch (e) {
    return { error: String(e?.message ?? e).split('\n')[0] || 'refused' };
  }
}

// What a library prints is not an answer.
console.log = console.info = console.warn = console.error;
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await answer(line)) + '\n');
}
