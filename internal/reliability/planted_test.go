//go:build reliability

package reliability

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// plantedSecret is a secret where people put them, in arguments of a command line.
type plantedSecret struct {
	kind string
	argv []string
	leak string // what must not come out, nor its halves
}

// secretFlags are names of options and settings under which training scripts and their tools take secrets.
var secretFlags = strings.Fields(
	`api-key openai-key hf-token hub_token wandb-api-key password passwd db-pass secret client-secret aws-secret-access-key
	auth-token access-token private-key encryption-key license-key webhook-secret slack-token comet-api-key neptune-api-token mlflow-tracking-password
	clearml-secret-key s3-secret-key minio-access-key ngc-api-key kaggle-key github-token gitlab-token smtp-password session-token`)

// secretVariables are those of the environment, given by env(1), docker, or a shell.
var secretVariables = strings.Fields(
	`HF_TOKEN HUGGING_FACE_HUB_TOKEN WANDB_API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
	AZURE_CLIENT_SECRET AZURE_STORAGE_KEY AZURE_STORAGE_CONNECTION_STRING GITHUB_TOKEN GH_TOKEN CI_JOB_TOKEN NGC_API_KEY COMET_API_KEY NEPTUNE_API_TOKEN
	MLFLOW_TRACKING_PASSWORD MLFLOW_TRACKING_TOKEN CLEARML_API_SECRET_KEY KAGGLE_KEY DATABRICKS_TOKEN SLACK_BOT_TOKEN SLACK_WEBHOOK_SECRET PGPASSWORD
	MYSQL_PWD REDIS_PASSWORD MONGO_INITDB_ROOT_PASSWORD DOCKER_PASSWORD NPM_TOKEN VAULT_TOKEN`)

// secretURLs hold %s where a password stands.
var secretURLs = []string{
	"postgres://trainer:%s@db.example:5432/runs", "postgresql+psycopg2://trainer:%s@db/runs",
	"mysql://root:%s@10.0.0.7/x", "mongodb+srv://me:%s@cluster0.example/x?w=1",
	"redis://:%s@cache:6379/0", "amqp://guest:%s@mq//", "https://oauth2:%s@gitlab.example/a/b.git",
	"git+https://%s@github.com/a/b.git", "http://proxy:%s@proxy.example:3128",
	"ftp://me:%s@ftp.example/data.tar", "s3://AKIAUSER:%s@bucket/key", "https://%s:x-oauth-basic@github.com/a/b",
	"sftp://me:%s@host/data", "ssh://me:%s@host:22/x",
	"clickhouse://default:%s@ch/db",
	// presigned: an address that is a password for one object
	"https://b.s3.eu-west-1.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260101T000000Z" +
		"&X-Amz-Signature=%s",
	"https://b.s3.amazonaws.com/k?X-Amz-Security-Token=%s&X-Amz-Expires=60",
	"https://b.s3.amazonaws.com/k?X-Amz-Credential=%s%%2F20260101&X-Amz-Expires=60",
	"https://b.s3.amazonaws.com/k?AWSAccessKeyId=X&Expires=1&Signature=%s",
	"https://storage.googleapis.com/b/k?X-Goog-Expires=9&X-Goog-Signature=%s",
	"https://storage.googleapis.com/b/k?GoogleAccessId=a&Expires=1&Signature=%s",
	"https://a.blob.core.windows.net/c/b?sv=2024-01-01&sr=b&sig=%s",
	"https://d1.cloudfront.net/x?Expires=1&Signature=%s&Key-Pair-Id=K1",
	"https://b.oss-cn-beijing.aliyuncs.com/k?OSSAccessKeyId=X&Expires=1&Signature=%s",
	"https://b.oss-cn-beijing.aliyuncs.com/k?x-oss-signature=%s",
	"https://b.cos.ap-guangzhou.myqcloud.com/k?q-sign-algorithm=sha1&q-signature=%s",
	"https://minio.example/b/k?X-Amz-Signature=%s#frag", "https://f002.backblazeb2.com/file/b/k?Authorization=%s",
	"https://x.example/dl?access_token=%s&v=2",
	"https://x.example/dl?v=2&apikey=%s",
}

// secretShapes make a value that is a secret by its looks alone: N of alphanumeric noise stands for {N}, of the same in
// capitals for {N!}, of hexadecimal noise for {Nx}.
var secretShapes = map[string]string{
	"hugging face":             "hf_{34}",
	"hugging face, old":        "api_org_{34}",
	"aws":                      "AKIA{16!}",
	"aws, session":             "ASIA{16!}",
	"github":                   "ghp_{36}",
	"github app":               "ghs_{36}",
	"github user":              "ghu_{36}",
	"github refresh":           "ghr_{36}",
	"github fine-grained":      "github_pat_{22}_{40}",
	"gitlab":                   "glpat-{20}",
	"gitlab job":               "glcbt-64_{20}",
	"weights & biases":         "{40x}",
	"weights & biases, new":    "wandb_v1_{40}",
	"openai":                   "sk-{20}T3BlbkFJ{20}",
	"openai project":           "sk-proj-{40}",
	"anthropic":                "sk-ant-api03-{40}-{6}AA",
	"slack bot":                "xoxb-2345678901-2345678901-{24}",
	"slack app":                "xapp-1-A0123456789-2345678901-{40}",
	"slack hook":               "https://hooks.slack.com/services/T01234567/B01234567/{24}",
	"discord hook":             "https://discord.com/api/webhooks/123456789012345678/{50}",
	"telegram bot":             "https://api.telegram.org/bot123456789:AA{33}/sendMessage",
	"google":                   "AIza{35}",
	"google oauth":             "ya29.{40}",
	"google client":            "GOCSPX-{28}",
	"npm":                      "npm_{36}",
	"pypi":                     "pypi-AgEIcHlwaS5vcmc{40}",
	"nvidia":                   "nvapi-{50}",
	"sendgrid":                 "SG.{22}.{43}",
	"json web token":           "eyJhbGciOiJIUzI1NiJ9.{40}.{43}",
	"neptune, base64 of JSON":  "eyJhcGlfYWRkcmVzcyI6{50}",
	"docker":                   "dckr_pat_{27}",
	"stripe":                   "rk_live_{24}",
	"groq":                     "gsk_{50}",
	"replicate":                "r8_{37}",
	"databricks":               "dapi{32x}",
	"vault":                    "hvs.{50}",
	"digitalocean":             "dop_v1_{64x}",
	"age":                      "AGE-SECRET-KEY-1{50!}",
	"private key":              "-----BEGIN OPENSSH PRIVATE KEY-----\n{50}\n-----END OPENSSH PRIVATE KEY-----",
	"azure account key":        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={50}==;EndpointSuffix=x",
	"azure shared access":      "Endpoint=sb://a.example/;SharedAccessKeyName=Root;SharedAccessKey={40}=",
	"sentry":                   "https://{32x}@o1.ingest.sentry.io/1",
	"weights & biases in host": "local-{40x}",
}

var shapeNoise = regexp.MustCompile(`\{(\d+)([!x]?)\}`)

// shaped is a secret of a shape, and what of it must not come out.
func shaped(shape, hex, alnum string) (secret, leak string) {
	secret = shapeNoise.ReplaceAllStringFunc(shape, func(hole string) string {
		m := shapeNoise.FindStringSubmatch(hole)
		noise := map[string]string{"": alnum, "!": strings.ToUpper(alnum), "x": hex}[m[2]]
		leak = noise[:16]
		return noise[:number(m[1])]
	})
	return secret, leak
}

// secretForms put a value that has no shape of its own into arguments; %s is where it stands.
var secretForms = [][2]string{
	{"several lines", "--config|lr: 0.1\napi_key: %s\nseed: 3"},
	{"several lines", "--env-file|WANDB_MODE=offline\nHF_TOKEN=%s\nX=1"},
	{"several lines", "-c|import os\nos.environ['OPENAI_API_KEY']='%s'\nmain()"},
	{"several lines", "-c|set -e\nexport PASSWORD=\"%s\"\npython t.py"}, {"several lines", "--secret=first\n%s"},
	{"several lines", "--yaml|db:\n  user: me\n  password: %s\n"},
	{"several lines", "--toml|[hub]\ntoken = \"%s\"\n"},
	{"several lines", "--ini|[default]\naws_secret_access_key = %s\n"},
	{"several lines", "-c|login(\n    key='%s',\n)"},
	{"several lines", "--netrc|machine api.example\nlogin me\npassword %s\n"},
	{"split", "-H|Authorization: Bearer %s"}, {"split", "--header|Authorization:|Bearer|%s"},
	{"split", "-H|Authorization: token %s"}, {"split", "curl|-u|me:%s"}, {"split", "--set|db.password=%s"},
	{"split", "-e|HF_TOKEN=%s"},
	{"split", "--env|MY_SECRET=%s"}, {"split", "-H|X-Api-Key: %s"}, {"split", "-H|Cookie: session=%s"},
	{"split", "--password|%s with spaces"}, {"split", "--proxy-user|me:%s"}, {"split", "sshpass|-p|%s"},
	{"json", `{"api_key": "%s"}`}, {"json", `{"a":{"b":{"client_secret":"%s"}}}`},
	{"json", `--config={"lr":1,"hub":{"token":"%s"}}`}, {"json", `[{"name":"x","password":"%s"}]`},
	{"json", `{"env":{"AWS_SECRET_ACCESS_KEY":"%s"}}`},
	{"json", `{"headers":{"Authorization":"Bearer %s"}}`}, {"json", `{'password': '%s'}`},
	{"json", `{\"token\":\"%s\"}`}, {"json", `{"private_key":"%s","type":"service_account"}`},
	{"json", `{"url":"https://me:%s@host/x"}`},
	{"json", `{"apiKey":"%s"}`}, {"json", `{"secrets":["%s"]}`}, {"json", `{"auth":{"user":"me","pass":"%s"}}`},
	{"shell", "bash|-c|HF_TOKEN=%s exec python t.py"}, {"shell", "sh|-c|python t.py --password '%s' --lr 1"},
	{"shell", "bash|-lc|echo %s ¦ docker login --password-stdin; export TOKEN=%s"},
	{"shell", "bash|-c|wandb login --relogin --key=%s"},
	{"path", "/mnt/token=%s/train.h5"}, {"path", "--data|/vsicurl/https://me:%s@host/a.tif"},
	{"path", "--ckpt|https://x.example/a?token=%s"}, {"path", "/srv/api_key=%s"}, {"path", "--out=/runs/password=%s/x"},
}

// planted makes the secrets: the same in every run, each with a value of its own.
func planted() []plantedSecret {
	noise := rand.New(rand.NewPCG(2026, 11))
	draw := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[noise.IntN(len(alphabet))]
		}
		return string(b)
	}
	hex := func() string { return draw("0123456789abcdef", 64) }
	alnum := func() string {
		return draw("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 3) +
			draw("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789", 57)
	}
	value := func() string { return alnum()[:14] + "9Z" }
	var all []plantedSecret
	for _, name := range secretFlags {
		v, w := value(), value()
		all = append(all, plantedSecret{kind: "flag", argv: []string{"--" + name, v}, leak: v},
			plantedSecret{kind: "flag=", argv: []string{"--" + name + "=" + w}, leak: w})
	}
	for _, name := range secretVariables {
		v := value()
		all = append(all, plantedSecret{kind: "variable", argv: []string{name + "=" + v}, leak: v})
	}
	for _, form := range secretURLs {
		v := value()
		all = append(all, plantedSecret{kind: "url", argv: []string{fmt.Sprintf(form, v)}, leak: v})
	}
	for _, kind := range sortedKeys(secretShapes) {
		v, leak := shaped(secretShapes[kind], hex(), alnum())
		all = append(all, plantedSecret{kind: "shape: " + kind, argv: []string{v}, leak: leak})
	}
	for _, form := range secretForms {
		v := value()
		all = append(all, plantedSecret{kind: form[0], argv: strings.Split(strings.NewReplacer("%s", v, "|", "\x00",
			"¦", "|").Replace(form[1]), "\x00"), leak: v})
	}
	return all
}
